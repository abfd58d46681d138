package oom

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"nodal/node"
	"nodal/node/store"
)

// KernelLog tells the kills that the kernel logs.
type KernelLog interface {
	// Watch tells each kill until the context ends. It calls lost if messages were overwritten before they were read, with
	// their number, or zero if that is not known.
	Watch(ctx context.Context, tell func(node.Kill), lost func(messages uint64)) error
}

// Watch adds events for the processes that the kernel kills.
type Watch struct {
	Kernel  KernelLog
	Cgroups Cgroups
	Views   func() ([]store.View, int64)
	Event   func(node.Event)
	Clock   func() time.Time
	Log     *slog.Logger
}

// Run adds events until the context ends, or until the kernel's log cannot be read any more.
func (w Watch) Run(ctx context.Context) {
	if err := w.Kernel.Watch(ctx, w.tell, w.lost); err != nil {
		w.Log.Warn("kills for want of memory are not told any more", "err", err)
	}
}

func (w Watch) tell(kill node.Kill) {
	pods, _ := w.Views()
	events := w.Cgroups.Events(kill, pods, w.Clock())
	for _, e := range events {
		w.Event(e)
	}
	w.Log.Info("the kernel killed a process for want of memory", "process", kill.Process, "pid", kill.PID,
		"cgroup", kill.Cgroup, "limited", kill.Limited, "events", len(events))
}

// lost says that kills may be missing. Repeated events are counted.
func (w Watch) lost(messages uint64) {
	count := "an unknown number of"
	if messages > 0 {
		count = fmt.Sprint(messages)
	}
	w.Event(node.Event{
		Time: w.Clock(), Warning: true, Reason: "KernelLogOverrun",
		Message: fmt.Sprintf("the kernel overwrote %s messages of its log before they were read; processes that were killed "+
			"for want of memory meanwhile are not told", count),
	})
}
