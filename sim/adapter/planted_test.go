package adapter

import (
	"context"
	"errors"

	"nodal/node"
	"nodal/reconciler"
)

// bug is a mistake planted in the adapter; the witness has to find it.
type bug uint8

const (
	noBug             bug = iota
	unknownIsFailure      // report an unknown outcome as a definite failure
	unknownIsDone         // report an unknown outcome as a success
	uidNotRead            // list containers without the UIDs of their pods
	attemptNotRead        // list containers without their attempt numbers
	hashNotRead           // list containers without the hashes of their specs
	failedLookIsEmpty     // report a failed look as an empty one
	noGrace               // stop without a grace period
)

// planted wraps an adapter and adds one bug to it.
type planted struct {
	reconciler.Runtime
	bug bug
}

// Do performs an action, with the bug if it concerns actions.
func (p planted) Do(
	ctx context.Context, pod *node.Pod, got *node.Observed, action node.Action,
) (node.Result, error) {
	if stop, ok := action.(node.StopContainer); ok && p.bug == noGrace {
		stop.Grace = 0
		action = stop
	}
	result, err := p.Runtime.Do(ctx, pod, got, action)
	if !errors.Is(err, node.ErrUnknown) {
		return result, err
	}
	switch p.bug {
	case unknownIsFailure:
		err = &node.Failure{Reason: "Failed", Err: errors.New(err.Error())}
	case unknownIsDone:
		err = nil
	}
	return result, err
}

// List looks, with the bug if it concerns looks.
func (p planted) List(ctx context.Context, only *node.Key) (map[node.Key]*node.Observed, error) {
	all, err := p.Runtime.List(ctx, only)
	if err != nil && p.bug == failedLookIsEmpty {
		return map[node.Key]*node.Observed{}, nil
	}
	for _, o := range all {
		for i := range o.Containers {
			switch c := &o.Containers[i]; p.bug {
			case uidNotRead:
				c.UID = ""
			case attemptNotRead:
				c.Attempt = 0
			case hashNotRead:
				c.Hash = ""
			}
		}
	}
	return all, err
}
