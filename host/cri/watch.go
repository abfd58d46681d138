package cri

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/node"
)

// Watch calls wake for each key that may have changed. It calls relist when it cannot name a key, first of all once it
// listens. It returns when the stream breaks or ctx ends, and wraps node.ErrUnsupported when the runtime has no events.
//
// A call is a hint to look, never an observation: events get lost.
func (p *Pods) Watch(ctx context.Context, wake func(node.Key), relist func()) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer p.health.hearing.set(false)
	w := watch{
		runtime: p.conn.runtime, events: p.conn.events, keys: p.keys, timeout: p.conn.timeout, wake: wake,
		relist: func() {
			p.health.hearing.set(true)
			relist()
		},
	}
	err := w.followCRI(ctx)
	if unimplemented(err) {
		err = w.followContainerd(ctx)
	}
	return explain(err, "watch the runtime")
}

// watch turns events into hints.
type watch struct {
	runtime runtimeapi.RuntimeServiceClient
	events  events
	keys    *keyIndex
	timeout time.Duration // of an ordinary call
	wake    func(node.Key)
	relist  func()
}

func (w watch) followCRI(ctx context.Context) error {
	// WaitForReady waits for a runtime that is away.
	stream, err := w.runtime.GetContainerEvents(ctx, &runtimeapi.GetEventsRequest{}, grpc.WaitForReady(true))
	if err != nil {
		return err
	}
	if err := w.listening(ctx); err != nil {
		return err
	}
	w.relist()
	for {
		event, err := stream.Recv()
		if err != nil {
			return err
		}
		if key, ok := w.keyOf(event); ok {
			w.wake(key)
		} else {
			w.relist()
		}
	}
}

// listening makes one call to the runtime behind the one that opened a stream. Once it is answered the stream is open
// at the other end, and a list that follows misses nothing.
func (w watch) listening(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	if _, err := w.runtime.Version(ctx, &runtimeapi.VersionRequest{}); err != nil {
		return fmt.Errorf("reach the runtime: %w", err)
	}
	return nil
}

func (w watch) keyOf(event *runtimeapi.ContainerEventResponse) (node.Key, bool) {
	if m := event.GetPodSandboxStatus().GetMetadata(); m.GetName() != "" && m.GetNamespace() != "" {
		return node.Key{Namespace: m.GetNamespace(), Name: m.GetName()}, true
	}
	return w.keys.find(event.GetContainerId())
}
