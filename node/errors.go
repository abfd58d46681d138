package node

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The error kinds of Nodal. Every error that reaches a client wraps one of them;
// the server turns a kind into a gRPC code and an HTTP status in one place.
var (
	ErrInvalid     = errors.New("invalid")            // the request is wrong and will stay wrong
	ErrNotFound    = errors.New("not found")          // no such pod, container or record
	ErrConflict    = errors.New("conflict")           // another owner, or another pod than was meant
	ErrChanged     = errors.New("changed meanwhile")  // after the revision that the client decided by: read again
	ErrCompacted   = errors.New("revision compacted") // a watch asks for history that is gone
	ErrNoSpace     = errors.New("no space left")      // the disk refuses new records
	ErrTooLarge    = errors.New("too large")          // a body or manifest over the limit
	ErrNotReady    = errors.New("not ready")          // it will be later: retry
	ErrUnavailable = errors.New("unavailable")        // the runtime, or another program, does not answer: retry
	ErrLost        = errors.New("lost")               // a record is there, and nothing on the node can read it
	ErrUnsupported = errors.New("unsupported")        // this runtime or build cannot do it
	ErrDenied      = errors.New("denied")             // the caller is known, but has no right to it
	ErrUnknown     = errors.New("outcome unknown")    // a call may or may not have had its effect
)

// Violation is one rule that a document breaks.
type Violation struct {
	Document int    // index of the document in its bundle, from 0
	Object   string // "Pod default/web", as far as it is known
	Field    string // "spec.containers[0].image"
	Rule     string // what the field has to be, in words
}

func (v Violation) String() string { return v.place() + ": " + v.fault() }

// place counts documents from 1, as people do.
func (v Violation) place() string {
	if v.Object == "" {
		return fmt.Sprintf("document %d", v.Document+1)
	}
	return fmt.Sprintf("document %d (%s)", v.Document+1, v.Object)
}

func (v Violation) fault() string {
	if v.Field == "" {
		return v.Rule
	}
	return v.Field + ": " + v.Rule
}

// InvalidError carries every violation found, so that one round trip shows them all.
type InvalidError struct{ Violations []Violation }

// Error names each document once, before its faults.
func (e *InvalidError) Error() string {
	lines, before := make([]string, len(e.Violations)), ""
	for i, v := range e.Violations {
		lines[i] = v.fault()
		if place := v.place(); place != before {
			lines[i], before = v.String(), place
		}
	}
	return "invalid manifest: " + strings.Join(lines, "; ")
}

// Is makes errors.Is(err, ErrInvalid) hold.
func (e *InvalidError) Is(target error) bool { return target == ErrInvalid }

// MaxViolations keeps the answer to a hopeless bundle readable, and small enough for a
// response header.
const MaxViolations = 50

// Invalid returns the error of all violations, or nil if there is none. It says how many
// it does not show; omitted counts those that the caller has left out of found.
func Invalid(found []Violation, omitted int) error {
	if over := len(found) - MaxViolations; over > 0 {
		found, omitted = found[:MaxViolations], omitted+over
	}
	if len(found) == 0 {
		return nil
	}
	if omitted > 0 {
		last := found[len(found)-1].Document
		found = append(slices.Clip(found), Violation{Document: last, Rule: fmt.Sprintf("%d more violations are not shown", omitted)})
	}
	return &InvalidError{Violations: found}
}

// Failure is a definite failure of an action with Kubernetes' word for it.
type Failure struct {
	Reason string // ErrImagePull, CreateContainerError, RunContainerError, ...
	Err    error
	Retry  time.Time // earliest next try; zero leaves it to the reconciler
}

func (f *Failure) Error() string { return f.Err.Error() }
func (f *Failure) Unwrap() error { return f.Err }

// Kubernetes' words for a pod's sandbox or cgroup that cannot be made, and for a cgroup
// that cannot be emptied.
const (
	FailedCreateSandbox = "FailedCreatePodSandBox"
	FailedCreateCgroup  = "FailedCreatePodContainer"
	FailedKill          = "FailedKillPod"
)

// RunContainerError is Kubernetes' word for a container that the runtime does not start.
const RunContainerError = "RunContainerError"

// NetworkNotReady is Kubernetes' word for a pod that waits for the runtime to have a
// network.
const NetworkNotReady = "NetworkNotReady"
