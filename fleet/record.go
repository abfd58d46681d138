package fleet

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	nodev1 "nodal/api/gen/node/v1"
)

// Record is the state of one node of a fleet in its own words.
type Record struct {
	Version string    `json:"version,omitempty"` // of the node's program
	Written time.Time `json:"written"`           // by the node's clock
	Given   int64     `json:"given"`             // the revision of etcd up to which the node has heard of changes of its keys
	Applied int64     `json:"applied"`           // the revision up to which it has carried them out
	Wanted  int       `json:"wanted"`            // pods that stand in etcd
	Running int       `json:"running"`
	Ready   int       `json:"ready"`
	Done    int       `json:"done"`    // have run to their end
	Failing int       `json:"failing"` // have failed, are refused, or wait because of a fault
	Fault   string    `json:"fault,omitempty"`
}

// sameAs reports whether two records differ in their times at most.
func (r Record) sameAs(other Record) bool {
	r.Written, other.Written = time.Time{}, time.Time{}
	return r == other
}

// The bytes of texts in a record.
const (
	maxFault   = 256
	maxVersion = 64
)

// state holds how far a pod has come.
type state struct {
	running, ready, done bool
	trouble              string // empty if the pod has none
}

// harmless are the reasons of pods that are about to start, or have ended well.
var harmless = []string{"", "ContainerCreating", "PodInitializing", "Completed"}

// stateOf returns how far a pod of the node has come.
func stateOf(p *nodev1.Pod) state {
	s := state{
		running: p.GetPhase() == nodev1.PodPhase_POD_PHASE_RUNNING,
		ready:   p.GetReady(),
		done:    p.GetPhase() == nodev1.PodPhase_POD_PHASE_SUCCEEDED,
	}
	switch {
	case p.GetPhase() == nodev1.PodPhase_POD_PHASE_FAILED:
		s.trouble = said("Failed", p.GetReason(), p.GetMessage())
	case s.ready, s.done, p.GetDeletionDeadline() != nil, slices.Contains(harmless, p.GetReason()):
	default:
		s.trouble = said(p.GetReason(), p.GetMessage())
	}
	return s
}

// said joins the parts of a sentence that are not empty.
func said(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ": ")
}

// health holds the version of a node, and its worst fault.
type health struct{ version, fault string }

// healthOf returns the first condition of a node that is not as it should be.
func healthOf(n *nodev1.GetNodeResponse) health {
	h := health{version: line(n.GetVersion(), maxVersion)}
	for _, c := range n.GetConditions() {
		switch {
		case c.GetType() == "Ready" && c.GetStatus() != "True":
			h.fault = said("the node is not ready", c.GetReason(), c.GetMessage())
			return h
		case c.GetType() != "Ready" && c.GetStatus() == "True" && h.fault == "":
			h.fault = said(c.GetType(), c.GetReason(), c.GetMessage())
		}
	}
	return h
}

// standing is one key with both of its sides.
type standing struct {
	key   string
	since int64 // the revision of etcd that has changed it last
	view  view
}

// tally returns the record of a node. A change counts as applied once the node runs what the key says, or nothing if the
// key is gone.
func tally(given int64, all []standing, h health) Record {
	r := Record{Version: h.version, Given: given, Applied: given}
	var troubles []string
	for _, s := range slices.SortedFunc(slices.Values(all), func(a, b standing) int { return strings.Compare(a.key, b.key) }) {
		if s.view.text != nil {
			r.Wanted++
		}
		if !s.view.applied() {
			r.Applied = min(r.Applied, s.since-1)
		}
		for _, p := range s.view.pods {
			r.Running += one(p.state.running)
			r.Ready += one(p.state.ready)
			r.Done += one(p.state.done)
		}
		if trouble := s.view.trouble(); trouble != "" {
			troubles = append(troubles, s.key+": "+trouble)
		}
	}
	r.Applied, r.Failing = max(r.Applied, 0), len(troubles)
	r.Fault = line(faultOf(h, troubles), maxFault)
	return r
}

// faultOf returns the worst fault of a node, and how many others there are.
func faultOf(h health, troubles []string) string {
	if h.fault != "" {
		troubles = append([]string{h.fault}, troubles...)
	}
	switch len(troubles) {
	case 0:
		return ""
	case 1:
		return troubles[0]
	}
	more := fmt.Sprintf(" (and %d more)", len(troubles)-1)
	return line(troubles[0], maxFault-len(more)) + more
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

// applied reports whether the node runs what the key says.
func (v view) applied() bool {
	if v.text != nil && (v.refused != "" || v.holder != "") || v.text == nil && len(v.pods) > 0 {
		return false
	}
	for _, p := range v.pods {
		if !p.deadline.IsZero() {
			return false
		}
	}
	verb := next(v).verb
	return verb != put && verb != end
}

// trouble returns what keeps a wanted pod from running. It is empty if nothing does.
func (v view) trouble() string {
	switch {
	case v.text == nil:
		return ""
	case v.refused != "":
		return said("refused", v.refused)
	case v.holder != "":
		return "the node has a pod of this name already, " + v.holder
	}
	for _, p := range v.pods {
		if p.state.trouble != "" {
			return p.state.trouble
		}
	}
	return ""
}

// line returns a text as one line of so many bytes at most.
func line(text string, most int) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if len(text) <= most {
		return text
	}
	const cut = "..."
	return strings.ToValidUTF8(text[:most-len(cut)], "") + cut
}
