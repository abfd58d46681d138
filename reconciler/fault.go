package reconciler

import (
	"errors"
	"time"

	"nodal/node"
)

// pauses bounds how long a failed target rests: at first, and at most.
type pauses struct{ base, longest time.Duration }

// reclaimRetry is the pause before files that could not be removed are tried again.
const reclaimRetry = time.Minute

// pausesOf has an image rest as long as upstream has it, the files of a volume as long,
// and anything else shorter.
func pausesOf(a node.Action) pauses {
	switch a.(type) {
	case node.EnsureImage:
		return pauses{10 * time.Second, 300 * time.Second}
	case node.RemoveFiles, node.ForgetVolume:
		return pauses{reclaimRetry, reclaimRetry}
	}
	return pauses{time.Second, time.Minute}
}

// moment is the rest of a target that is not at fault: the call had no answer, or the
// runtime has no network.
var moment = pauses{250 * time.Millisecond, 5 * time.Second}

// faultOf returns the fault that a target has after one more failure.
func faultOf(before node.Fault, err error, rest pauses, now time.Time) node.Fault {
	fault := node.Fault{Message: err.Error(), Count: before.Count + 1, At: now, Reason: "ActionFailed"}
	failure := failureOf(err)
	if failure != nil {
		fault.Reason = failure.Reason
	}
	if errors.Is(err, node.ErrUnknown) || errors.Is(err, node.ErrUnavailable) || fault.Reason == node.NetworkNotReady {
		rest = moment
	}
	fault.Retry = now.Add(node.Backoff(rest.base, fault.Count, rest.longest))
	if failure != nil && !failure.Retry.IsZero() {
		fault.Retry = failure.Retry
	}
	return fault
}

// withFault adds a fault to those of an observation that may be written.
func withFault(faults map[string]node.Fault, target string, fault node.Fault) map[string]node.Fault {
	if faults == nil {
		faults = map[string]node.Fault{}
	}
	faults[target] = fault
	return faults
}

// failureOf is the definite failure that an error is, or nil.
func failureOf(err error) *node.Failure {
	var failure *node.Failure
	if errors.As(err, &failure) {
		return failure
	}
	return nil
}
