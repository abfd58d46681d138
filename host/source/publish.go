package source

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"time"

	"nodal/node"
	"nodal/node/intake"
	"nodal/node/manifest"
	"nodal/node/manifest/rules"
	"nodal/node/store"
)

// DefaultPoll is the interval between looks without an event.
const DefaultPoll = 20 * time.Second

// Sink receives a source's pods, objects and faults.
type Sink struct {
	Intake intake.Intake
	Board  *store.Sources
	Event  func(node.Event)
}

// The reasons of the events that sources write.
const (
	ReasonInvalid     = "InvalidManifest"     // it breaks a rule, or two documents claim one pod
	ReasonUnavailable = "SourceUnavailable"   // it cannot be read
	ReasonNotTaken    = "ManifestNotAccepted" // it is valid, but the node cannot take it now
	ReasonRecovered   = "SourceRecovered"
)

// reading is the last content of one file or URL.
type reading struct {
	origin     string
	deliveries []intake.Delivery
	err        error // why some or all of it is not delivered
	held       bool  // nothing was read of it yet
}

// patient returns the sink for one source, in which claims stay for a while when they are missing.
func (s Sink) patient(of node.Source) Sink {
	s.Intake.Source, s.Intake.Missing = of, &intake.Missing{}
	return s
}

// publisher brings the node's pods and objects in line with what was read.
type publisher struct {
	Sink
	location string
	standing map[string]store.SourceError // by origin
	down     string                       // the reason why the source as a whole cannot be read
}

// batch holds all that a source has at one moment.
type batch struct {
	deliveries []intake.Delivery
	keep       map[string]bool  // origins whose pods stay without being delivered
	problems   map[string]error // by origin
	moving     bool             // a file is missing that may be gone in a moment: what it has may stand in another one by now
}

func collect(readings ...reading) batch {
	b := batch{keep: map[string]bool{}, problems: map[string]error{}}
	for _, r := range readings {
		b.deliveries = append(b.deliveries, r.deliveries...)
		if r.err != nil {
			b.problems[r.origin] = r.err
		}
		if r.err != nil || r.held {
			b.keep[r.origin] = true
		}
	}
	return b
}

// deliver passes a batch to the intake, and reports whether the node took all of it and knows what to prune.
func (p *publisher) deliver(b batch, now time.Time) bool {
	rejected := p.Intake.Sync(b.deliveries, b.keep, now)
	for origin, err := range rejected {
		if b.moving && errors.Is(err, node.ErrConflict) {
			continue // the next delivery finds it again, if it lasts
		}
		b.problems[origin] = errors.Join(b.problems[origin], err)
	}
	if p.down != "" {
		p.Event(node.Event{Time: now, Reason: ReasonRecovered, Message: p.location + " can be read again"})
		p.down = ""
	}
	p.stand(b.problems, now)
	delivered := now
	if anyPassing(rejected) {
		delivered = time.Time{} // else the refused pods would be swept as unwanted
	}
	p.Board.Delivered(p.Intake.Source, delivered, p.standing)
	return len(rejected) == 0 && !p.Intake.Unsure()
}

// anyPassing reports whether a pod was refused for a passing reason, such as a lack of space.
func anyPassing(rejected map[string]error) bool {
	for _, err := range rejected {
		if errors.Is(err, node.ErrNoSpace) || errors.Is(err, node.ErrNotReady) {
			return true
		}
	}
	return false
}

// fail reports that the source as a whole cannot be read. It is an event when it begins, not
// at every attempt, whose message may differ by a port number. What was missing before is not known to be missing since.
func (p *publisher) fail(err error, now time.Time) {
	p.Intake.Missing.Forget()
	if reason := reasonOf(err); p.down != reason {
		p.down = reason
		p.warn(p.location, err, now)
	}
	p.Board.Failed(p.Intake.Source, store.SourceError{Origin: p.location, Message: err.Error(), Time: now})
}

// stand replaces the standing problems and reports those that are new.
func (p *publisher) stand(problems map[string]error, now time.Time) {
	next := make(map[string]store.SourceError, len(problems))
	for origin, err := range problems {
		old, stood := p.standing[origin]
		if stood && old.Message == err.Error() {
			next[origin] = old
			continue
		}
		next[origin] = store.SourceError{Origin: origin, Message: err.Error(), Time: now}
		p.warn(origin, err, now)
	}
	p.standing = next
}

func (p *publisher) warn(origin string, err error, now time.Time) {
	p.Event(node.Event{
		Time: now, Warning: true, Reason: reasonOf(err),
		Message: fmt.Sprintf("%s: %s", origin, err),
	})
}

// unreadable marks an error of getting at the bytes.
type unreadable struct{ error }

func (u unreadable) Unwrap() error { return u.error }

// cannotRead marks an error, and removes the path or URL from its text: the error is shown beside its place, and a URL
// without its secrets.
func cannotRead(err error) error {
	var file *fs.PathError
	var request *url.Error
	switch {
	case errors.As(err, &file):
		err = fmt.Errorf("%s: %w", file.Op, file.Err)
	case errors.As(err, &request):
		err = fmt.Errorf("%s: %w", request.Op, request.Err)
	}
	return unreadable{err}
}

func reasonOf(err error) string {
	var read unreadable
	switch {
	case errors.Is(err, node.ErrInvalid), errors.Is(err, node.ErrTooLarge):
		return ReasonInvalid
	case errors.As(err, &read):
		return ReasonUnavailable
	}
	return ReasonNotTaken
}

// read turns the bytes of one origin into static pods and objects. Valid documents count even beside wrong ones.
func (p *publisher) read(origin string, data []byte, now time.Time) reading {
	r := reading{origin: origin}
	docs, err := manifest.DecodeEach(data, manifest.Options{})
	var wrong []node.Violation
	if invalid := (*node.InvalidError)(nil); errors.As(err, &invalid) {
		wrong = invalid.Violations
	} else if err != nil {
		r.err = err
		return r
	}
	for _, doc := range docs {
		if doc.Object != nil {
			r.deliveries = append(r.deliveries, intake.Delivery{Object: doc.Object, Origin: origin, Document: doc.Index})
			continue
		}
		aliases := manifest.Static(doc, manifest.Place{Node: p.Intake.NodeName(), Source: p.annotation(), Origin: origin}, now)
		violations := validate(doc)
		if len(violations) == 0 {
			r.deliveries = append(r.deliveries, intake.Delivery{
				Pod: doc.Pod, Origin: origin, Document: doc.Index, Aliases: aliases,
			})
		}
		wrong = append(wrong, violations...)
	}
	if len(wrong) > 0 {
		r.err = &node.InvalidError{Violations: wrong}
	}
	return r
}

// annotation returns the word for the source that tools expect on a static pod.
func (p *publisher) annotation() string {
	if p.Intake.Source == node.SourceURL {
		return manifest.FromURL
	}
	return manifest.FromFile
}

// validate checks a pod again after its name has grown by the node's.
func validate(doc manifest.Doc) []node.Violation {
	var violations []node.Violation
	for _, err := range rules.Pod(doc.Pod) {
		violations = append(violations, node.Violation{
			Document: doc.Index, Object: "Pod " + node.KeyOf(doc.Pod).String(),
			Field: err.Field, Rule: err.ErrorBody(),
		})
	}
	return violations
}
