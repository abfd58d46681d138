package image

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/host/image/credential"
	"nodal/node"
)

// Runtime is the part of the container runtime that deals with images.
type Runtime interface {
	// Image finds an image on the machine. It returns nil if the image is absent.
	Image(ctx context.Context, ref string) (*node.LocalImage, error)
	// Pull pulls a reference even if the image is there. Without a credential it pulls
	// anonymously.
	Pull(ctx context.Context, ref string, as *node.Credential) (node.LocalImage, error)
}

// Config holds the parts of a Puller.
type Config struct {
	Runtime   Runtime
	Parallel  int     // pulls at a time; zero means no bound
	PerSecond float64 // pulls that begin in a second; zero means no bound
	Burst     int     // of those, how many at once

	// Object finds the pull secrets of pods. nil means that there are none.
	Object  func(node.ObjectRef) (*node.Object, bool)
	Files   credential.Files    // of the node
	Plugins *credential.Plugins // credential programs; nil disables them

	Verify Verification

	Log  *slog.Logger
	Tell func(node.Event) // reports what a pod's owner should know

	// Pulled counts a pull that has succeeded, with the size of the image and the time that the pod has waited; nil disables it.
	Pulled func(bytes int64, waited time.Duration)
	// Asked counts an image that a pod needs. present says whether it is there, and pull whether it has to be pulled: true,
	// false, or empty if that did not come up. nil disables it.
	Asked func(policy corev1.PullPolicy, present, pull string)
}

// Puller gets images ready for pods. Its methods may be called from any goroutine.
type Puller struct {
	config  Config
	flights *flights
	rests   rests
	records records
}

// New makes a Puller.
func New(c Config) *Puller {
	if c.Object == nil {
		c.Object = func(node.ObjectRef) (*node.Object, bool) { return nil, false }
	}
	return &Puller{
		config:  c,
		flights: newFlights(c.Parallel, c.PerSecond, c.Burst),
		rests:   rests{orders: map[order]*rest{}},
		records: records{Verification: c.Verify, pulling: map[string]*intent{}},
	}
}

// SetPace changes how many pulls begin in a second, and how many of those at once. Zero means no bound.
func (p *Puller) SetPace(perSecond float64, burst int) { p.flights.setPace(perSecond, burst) }

// request is an image that a pod's container needs.
type request struct {
	node.EnsureImage
	pod *node.Pod
	ref string // with a tag or digest

	present, pull string // as Config.Asked is told
}

func (r request) waiter() node.PullWaiter {
	return node.PullWaiter{Pod: r.pod.Key(), UID: r.pod.UID(), Container: r.Container, Volume: r.Volume}
}

// Pulls returns the pulls under way, the oldest first.
func (p *Puller) Pulls() []node.Pull { return p.flights.all() }

// Ensure makes sure that a container's image is on the machine, as its pull policy says, and returns the image's id. A
// *node.Failure is definite and holds the time of the next try.
func (p *Puller) Ensure(ctx context.Context, pod *node.Pod, a node.EnsureImage) (node.Result, error) {
	r := request{EnsureImage: a, pod: pod}
	image, err := p.ensure(ctx, &r)
	if p.config.Asked != nil {
		p.config.Asked(r.Policy, r.present, r.pull)
	}
	return node.Result{ID: image.ID, At: time.Now()}, err
}

// ensure notes in the request what it has found out.
func (p *Puller) ensure(ctx context.Context, r *request) (node.LocalImage, error) {
	var err error
	if r.ref, err = node.NormalReference(r.Ref); err != nil {
		return node.LocalImage{}, p.refuse(*r, node.InvalidImageName, eventInspectFailed,
			said{fmt.Sprintf("Failed to apply default image tag %q", r.Ref), err})
	}
	if r.Policy != corev1.PullAlways {
		image, err := p.config.Runtime.Image(ctx, r.ref)
		if err != nil {
			return node.LocalImage{}, p.notInspected(ctx, *r, err)
		}
		r.present = strconv.FormatBool(image != nil)
		if image != nil && p.mayUse(ctx, *r, *image) {
			r.pull = strconv.FormatBool(false)
			p.tell(*r, eventPulled, fmt.Sprintf("Container image %q already present on machine and can be accessed by the pod", r.Ref))
			return *image, nil
		}
		if r.Policy == corev1.PullNever {
			return node.LocalImage{}, p.refuse(*r, node.ErrImageNeverPull, node.ErrImageNeverPull, neverPulled(*r, image != nil))
		}
	}
	r.pull = strconv.FormatBool(true)
	return p.pull(ctx, *r)
}

// mayUse reports whether the pod may use a present image without asking a registry. If in
// doubt, the registry is asked.
func (p *Puller) mayUse(ctx context.Context, r request, image node.LocalImage) bool {
	may, err := p.records.mayUse(image, r.ref, func() []credential.Key { return p.keys(ctx, r) })
	if err != nil {
		p.config.Log.Warn("cannot read the record of an image; asking the registry", "image", r.ref, "err", err)
	}
	return may
}

// pull waits for the image's pull, unless an earlier one has failed just now.
func (p *Puller) pull(ctx context.Context, r request) (node.LocalImage, error) {
	keys := p.keys(ctx, r)
	o := order{ref: r.ref, as: fingerprintOf(keys)}
	if until, cause := p.rests.held(o, r.pod.UID(), time.Now()); cause != nil {
		p.tellBackOff(r)
		err := said{fmt.Sprintf("Back-off pulling image %q", r.Ref), cause}
		return node.LocalImage{}, &node.Failure{Reason: node.ImagePullBackOff, Err: err, Retry: until}
	}
	p.tell(r, eventPulling, fmt.Sprintf("Pulling image %q", r.Ref))
	begin := time.Now()
	got, err := p.flights.do(ctx, o, r.waiter(), func(ctx context.Context) (node.LocalImage, error) {
		return p.pullRecorded(ctx, r.ref, keys)
	})
	if err != nil {
		return node.LocalImage{}, p.notPulled(r, o, err)
	}
	p.rests.over(o)
	p.tellPulled(r, got, time.Since(begin))
	return got.image, nil
}

// pullRecorded pulls an image and records the credential. Without the record, only pods that
// can pull the image may use it.
func (p *Puller) pullRecorded(ctx context.Context, ref string, keys []credential.Key) (node.LocalImage, error) {
	if err := p.records.intend(ref); err != nil {
		return node.LocalImage{}, &node.Failure{Reason: node.ErrImagePull, Err: err}
	}
	image, key, err := p.pullAs(ctx, ref, keys)
	end := pullEnd{image: image, key: key}
	var failure *node.Failure
	switch {
	case err == nil:
		end.outcome = brought
	case errors.As(err, &failure):
		end.outcome = failed
	}
	if err := p.records.over(ref, end); err != nil {
		p.config.Log.Warn("cannot record a pulled image; pods will pull it again", "image", ref, "err", err)
	}
	return image, err
}

// Removed forgets the records of an image that is gone.
func (p *Puller) Removed(id string) error { return p.records.forget(id) }

// pullAs tries one credential after the other, or pulls anonymously if there is none. It
// returns the credential that worked.
func (p *Puller) pullAs(ctx context.Context, ref string, keys []credential.Key) (node.LocalImage, *credential.Key, error) {
	if len(keys) == 0 {
		image, err := p.config.Runtime.Pull(ctx, ref, nil)
		return image, nil, err
	}
	var errs []error
	for _, key := range keys {
		image, err := p.config.Runtime.Pull(ctx, ref, &key.Credential)
		var failure *node.Failure
		if !errors.As(err, &failure) {
			return image, &key, err
		}
		errs = append(errs, err)
	}
	return node.LocalImage{}, nil, errors.Join(errs...)
}

// notPulled handles a failed pull. A pull without an answer is no failure: the image is
// looked for again.
func (p *Puller) notPulled(r request, o order, err error) error {
	var failure *node.Failure
	if !errors.As(err, &failure) {
		return err
	}
	until := p.rests.failed(o, r.pod.UID(), err, time.Now())
	p.warn(r, eventFailed, fmt.Sprintf("Failed to pull image %q: %v", r.Ref, err))
	p.warn(r, eventFailed, "Error: "+failure.Reason)
	p.tellBackOff(r)
	return &node.Failure{Reason: failure.Reason, Err: err, Retry: until}
}

func (p *Puller) notInspected(ctx context.Context, r request, err error) error {
	if ctx.Err() == nil {
		p.warn(r, eventInspectFailed, fmt.Sprintf("Failed to inspect image %q: %v", r.Ref, err))
	}
	return err
}

// refuse returns a failure that no pull would cure.
func (p *Puller) refuse(r request, reason, event string, err error) error {
	p.warn(r, event, err.Error())
	p.warn(r, eventFailed, "Error: "+reason)
	return &node.Failure{Reason: reason, Err: err}
}
