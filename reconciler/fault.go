package reconciler

import (
	"cmp"
	"errors"
	"time"

	"nodal/node"
)

var (
	// usual is the rest after the failure of an action that names no other.
	usual = node.Rest{First: time.Second, Longest: time.Minute}
	// moment is the rest after a failure that is not the target's own: the call had no answer, or the runtime has no
	// network.
	moment = node.Rest{First: 250 * time.Millisecond, Longest: 5 * time.Second}
)

// restOf bounds how long the target of an action rests after a failure.
func restOf(a node.Action) node.Rest { return cmp.Or(a.About().Rest, usual) }

// faultOf returns the fault that a target has after one more failure.
func faultOf(before node.Fault, err error, rest node.Rest, now time.Time) node.Fault {
	fault := node.Fault{Message: err.Error(), Count: before.Count + 1, At: now, Reason: "ActionFailed"}
	failure := failureOf(err)
	if failure != nil {
		fault.Reason = failure.Reason
	}
	if errors.Is(err, node.ErrUnknown) || errors.Is(err, node.ErrUnavailable) || fault.Reason == node.NetworkNotReady {
		rest = moment
	}
	fault.Retry = now.Add(node.Backoff(rest.First, fault.Count, rest.Longest))
	if failure != nil && !failure.Retry.IsZero() {
		fault.Retry = failure.Retry
	}
	return fault
}

// withFault adds a fault to a map that may be written.
func withFault(faults map[string]node.Fault, target string, fault node.Fault) map[string]node.Fault {
	if faults == nil {
		faults = map[string]node.Fault{}
	}
	faults[target] = fault
	return faults
}

// failureOf returns the definite failure in an error, or nil.
func failureOf(err error) *node.Failure {
	var failure *node.Failure
	if errors.As(err, &failure) {
		return failure
	}
	return nil
}
