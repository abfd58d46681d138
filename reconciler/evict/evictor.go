package evict

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"nodal/node"
	"nodal/node/store"
)

// Disk measures what pods write to it.
type Disk interface {
	// Written measures the named volumes of a pod. If containers is true, it also measures what the pod's containers
	// write elsewhere.
	Written(ctx context.Context, pod *node.Pod, volumes []string, containers bool) (node.Written, error)
}

const (
	// MeasureEvery is the shortest time between two rounds of measuring.
	//
	// A pod without limits is never measured. For the others measuring takes about a twentieth of a processor, and a
	// third of the time, as it waits for the disk and the runtime meanwhile. It takes more only if a round would be due
	// less than once a minute.
	MeasureEvery  = time.Second
	measureAtMost = time.Minute
	effortShare   = 20
	timeShare     = 2

	// evictionGrace is the time for an evicted pod to end, as upstream has it: the pod goes on writing meanwhile.
	evictionGrace = time.Second
)

// Evictor ends pods that have written more to the disk than they may.
type Evictor struct {
	Store  *store.Store
	Disk   Disk
	Events *store.Events
	Log    *slog.Logger
	Clock  func() time.Time
	// Evicted is called for each pod that is ended, with the limit that it was over; nil disables it.
	Evicted func(Limit)
}

// Run measures in rounds until the context ends. While there is no pod with a limit, it waits for a change of the pods.
func (e *Evictor) Run(ctx context.Context) {
	for ctx.Err() == nil {
		changed, began := e.Store.Changed(), time.Now()
		some, effort := e.Round(ctx)
		pause := min(max(effortShare*effort, timeShare*time.Since(began), MeasureEvery), measureAtMost)
		if !some {
			select {
			case <-changed:
			case <-ctx.Done():
			}
		}
		rest(ctx, pause)
	}
}

// rest waits for a time, or until the context ends.
func rest(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// Round checks the pods that have a limit. It reports whether there are any, and the processor time that it took.
func (e *Evictor) Round(ctx context.Context) (some bool, effort time.Duration) {
	views, _ := e.Store.Views()
	for _, v := range views {
		if v.Slot.Closed() || v.Slot.Pod.Deletion != nil {
			continue
		}
		volumes, containers := Bound(v.Slot.Pod.Object)
		if len(volumes) == 0 && !containers {
			continue
		}
		some = true
		written, unmeasured := e.Disk.Written(ctx, v.Slot.Pod, volumes, containers)
		effort += written.Effort
		// If something could not be measured, the rest decides.
		err := errors.Join(unmeasured, e.check(v.Key, v.Slot.Pod, written))
		if err != nil && ctx.Err() == nil {
			e.Log.Warn("cannot enforce a pod's limits of ephemeral storage", "pod", v.Key.String(), "err", err)
		}
	}
	return some, effort
}

// check evicts a pod that has written more than a limit.
func (e *Evictor) check(key node.Key, pod *node.Pod, written node.Written) error {
	over, message := Overuse(pod.Object, written)
	if over == LimitNone {
		return nil
	}
	evicted, err := end(e.Store, key, pod.UID(), node.Termination{
		Requested: e.Clock(), Reason: node.Evicted, Message: message, Grace: evictionGrace,
	})
	if evicted {
		e.Events.Add(node.Event{
			Key: key, UID: pod.UID(), Time: e.Clock(), Warning: true, Reason: node.Evicted, Message: message,
		})
		if e.Evicted != nil {
			e.Evicted(over)
		}
	}
	return err
}
