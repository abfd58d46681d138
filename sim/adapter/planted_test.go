package adapter

import (
	"context"
	"errors"

	"nodal/node"
	"nodal/reconciler"
)

// bug is a mistake planted in the adapter, to see that it is found.
type bug uint8

const (
	noBug             bug = iota
	unknownIsFailure      // an open outcome passes for a definite failure
	unknownIsDone         // an open outcome passes for a success
	uidNotRead            // a list does not tell whose containers are
	attemptNotRead        // a list does not tell which attempt a container is
	hashNotRead           // a list does not tell what a container was made from
	failedLookIsEmpty     // a look that fails shows nothing
	noGrace               // a stop leaves no time
)

// planted is an adapter with a bug.
type planted struct {
	reconciler.Runtime
	bug bug
}

// Do performs an action, wrong if it is to be.
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

// List looks, wrong if it is to be.
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
