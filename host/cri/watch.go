package cri

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/node"
)

// Watch calls wake for each key that may have changed, and relist when it cannot
// say which, first of all once it listens. It returns when the stream breaks
// or ctx ends, and wraps node.ErrUnsupported when the runtime tells nothing.
//
// What it tells is a hint to look, never an observation: events get lost.
func (r *Runtime) Watch(ctx context.Context, wake func(node.Key), relist func()) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err := r.watchCRI(ctx, wake, relist)
	if unimplemented(err) {
		err = r.watchContainerd(ctx, wake, relist)
	}
	return explain(err, "watch the runtime")
}

func (r *Runtime) watchCRI(ctx context.Context, wake func(node.Key), relist func()) error {
	// Whoever watches a runtime that is away wants to hear of it once it is back.
	stream, err := r.runtime.GetContainerEvents(ctx, &runtimeapi.GetEventsRequest{}, grpc.WaitForReady(true))
	if err != nil {
		return err
	}
	if err := r.listening(ctx); err != nil {
		return err
	}
	relist()
	for {
		event, err := stream.Recv()
		if err != nil {
			return err
		}
		if key, ok := r.keyOfEvent(event); ok {
			wake(key)
		} else {
			relist()
		}
	}
}

// listening goes once to the runtime and back, behind the call that opened a
// stream: then the stream is heard, and a list that follows misses nothing.
func (r *Runtime) listening(ctx context.Context) error {
	ctx, cancel := r.request(ctx)
	defer cancel()
	if _, err := r.runtime.Version(ctx, &runtimeapi.VersionRequest{}); err != nil {
		return fmt.Errorf("reach the runtime: %w", err)
	}
	return nil
}

func (r *Runtime) keyOfEvent(event *runtimeapi.ContainerEventResponse) (node.Key, bool) {
	if m := event.GetPodSandboxStatus().GetMetadata(); m.GetName() != "" && m.GetNamespace() != "" {
		return node.Key{Namespace: m.GetNamespace(), Name: m.GetName()}, true
	}
	return r.keys.find(event.GetContainerId())
}
