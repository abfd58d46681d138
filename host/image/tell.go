package image

import (
	"fmt"
	"time"

	"nodal/node"
)

// The reasons of events, as every kubelet has them: people and tools search for them.
const (
	eventPulling       = "Pulling"
	eventPulled        = "Pulled"
	eventBackOff       = "BackOff"
	eventFailed        = "Failed"
	eventInspectFailed = "InspectFailed"
	eventNoSecret      = "FailedToRetrieveImagePullSecret"
)

// said is an error that a status shows word for word.
type said struct {
	message string
	cause   error // may be nil
}

func (s said) Error() string {
	if s.cause == nil {
		return s.message
	}
	return s.message + ": " + s.cause.Error()
}

func (s said) Unwrap() error { return s.cause }

// neverPulled is the error for an image that the policy forbids to pull and that the pod
// cannot use as it is.
func neverPulled(r request, present bool) error {
	if present {
		return said{message: fmt.Sprintf("Container image %q is present with pull policy of Never but does not have the proper credentials", r.Ref)}
	}
	return said{message: fmt.Sprintf("Container image %q is not present with pull policy of Never", r.Ref)}
}

// tellPulled reports how long the pull took, and how long the pod waited for it.
func (p *Puller) tellPulled(r request, got pulled, waited time.Duration) {
	e := r.event(eventPulled, fmt.Sprintf("Successfully pulled image %q in %s (%s including waiting). Image size: %d bytes.",
		r.Ref, got.took.Truncate(time.Millisecond), waited.Truncate(time.Millisecond), got.image.Size))
	e.Took = waited
	p.config.Tell(e)
	if p.config.Pulled != nil {
		p.config.Pulled(int64(got.image.Size), waited)
	}
}

// tellBackOff reports that the pod waits for the image's next pull.
func (p *Puller) tellBackOff(r request) {
	p.tell(r, eventBackOff, fmt.Sprintf("Back-off pulling image %q", r.Ref))
	p.warn(r, eventFailed, "Error: "+node.ImagePullBackOff)
}

func (p *Puller) tell(r request, reason, message string) { p.config.Tell(r.event(reason, message)) }

func (p *Puller) warn(r request, reason, message string) {
	e := r.event(reason, message)
	e.Warning = true
	p.config.Tell(e)
}

func (r request) event(reason, message string) node.Event {
	return node.Event{
		Key: r.pod.Key(), UID: r.pod.UID(), Container: r.Container, Time: time.Now(),
		Reason: reason, Message: message,
	}
}
