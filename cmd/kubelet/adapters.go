package main

import (
	"context"
	"sync/atomic"

	"nodal/host/cri"
	"nodal/host/logs"
	"nodal/host/volume"
	"nodal/node"
	"nodal/reconciler"
	"nodal/server"
	"nodal/server/metrics"
)

// podLogs lets the server read logs.
type podLogs struct{ layout logs.Layout }

var _ server.Logs = podLogs{}

func (l podLogs) Read(ctx context.Context, run server.LogRun, o server.LogOptions, sink server.LogSink) error {
	path := run.Path
	if path == "" {
		var err error
		pod := logs.Pod{Namespace: run.Key.Namespace, Name: run.Key.Name, UID: string(run.UID)}
		if path, err = l.layout.Path(pod, run.Container, int(run.Attempt)); err != nil {
			return err
		}
	}
	return logs.Read(ctx, path, logs.Options{
		Tail: o.Tail, LimitBytes: o.LimitBytes, Since: o.Since, Timestamps: o.Timestamps,
		Stream: logs.Stream(o.Stream), Follow: o.Follow, Exited: o.Exited,
	}, sink)
}

// runtime is the container runtime as both the reconciler and the server see
// it. It notes whether the runtime tells of changes itself.
type runtime struct {
	*cri.Runtime
	links  logLinks
	counts *metrics.Agent
	tells  atomic.Bool
	turned node.Bell // when the runtime begins to tell, and when it ends
}

var (
	_ reconciler.Runtime = (*runtime)(nil)
	_ reconciler.Volumes = (*volume.Tree)(nil)
	_ server.Runtime     = (*runtime)(nil)
)

func (r *runtime) Watch(ctx context.Context, wake func(node.Key), relist func()) error {
	defer r.turns(false)
	heard := false
	err := r.Runtime.Watch(ctx, wake, func() {
		if !heard {
			heard = true
			r.counts.Listened(nil)
		}
		r.turns(true)
		relist()
	})
	if !heard && ctx.Err() == nil {
		r.counts.Listened(err)
	}
	return err
}

// turns notes whether the runtime tells. One that is still out of reach may be so
// for another reason than before.
func (r *runtime) turns(tells bool) {
	if was := r.tells.Swap(tells); !was || !tells {
		r.turned.Ring()
	}
}

// Changed returns a channel that is closed when the runtime comes or goes.
func (r *runtime) Changed() <-chan struct{} { return r.turned.Heard() }

func (r *runtime) Status(ctx context.Context) (server.RuntimeStatus, error) {
	s, err := r.Runtime.Status(ctx)
	status := server.RuntimeStatus{
		Name: s.Name, Version: s.Version, Ready: s.Ready, NetworkReady: s.NetworkReady,
		Message: s.Message, Events: r.tells.Load(), SupplementalGroupsPolicy: s.Features.SupplementalGroupsPolicy,
	}
	for _, h := range s.Handlers {
		status.Handlers = append(status.Handlers, server.RuntimeHandler(h))
	}
	return status, err
}

func (r *runtime) Exec(ctx context.Context, containerID string, command []string, s server.ExecStreams) (int32, error) {
	code, err := r.Runtime.Exec(ctx, containerID, command, cri.Streams(s))
	return int32(code), err
}

func (r *runtime) Attach(ctx context.Context, containerID string, s server.ExecStreams) error {
	return r.Runtime.Attach(ctx, containerID, cri.Streams(s))
}
