package cri

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/host/cri/containerd"
	"nodal/node"
)

func TestContainerdEventsBecomeHints(t *testing.T) {
	for _, test := range []struct {
		name               string
		what               containerd.What
		container, process string
		woken              bool
		relisted           bool
	}{
		{"the end of a known container", containerd.Exited, "c1", "c1", true, false},
		{"the end of a command in it", containerd.Exited, "c1", "e1", false, false},
		{"a known container out of memory", containerd.OutOfMemory, "c1", "", true, false},
		{"a known container that somebody removed", containerd.Deleted, "c1", "", true, false},
		{"the end of an unknown container", containerd.Exited, "c2", "c2", false, true},
		{"the removal of an unknown container", containerd.Deleted, "c2", "", false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				exited := &late{states: []runtimeapi.ContainerState{runtimeapi.ContainerState_CONTAINER_EXITED}}
				key := node.Key{Namespace: "default", Name: "web"}
				keys := newKeyIndex()
				keys.put("c1", key)
				event := containerd.Event{What: test.what, Container: test.container, Process: test.process}
				woken, relisted := false, false
				w := watch{
					runtime: runtimeapi.NewRuntimeServiceClient(exited), keys: keys,
					wake: func(k node.Key) { woken = k == key }, relist: func() { relisted = true },
				}
				w.hear(t.Context(), event)
				synctest.Wait()
				if woken != test.woken || relisted != test.relisted {
					t.Errorf("woken %t, relisted %t, want %t, %t", woken, relisted, test.woken, test.relisted)
				}
			})
		})
	}
}

// late is a runtime whose container status lags behind its events.
type late struct {
	grpc.ClientConnInterface
	states []runtimeapi.ContainerState
}

func (l *late) Invoke(_ context.Context, _ string, _, reply any, _ ...grpc.CallOption) error {
	reply.(*runtimeapi.ContainerStatusResponse).Status = &runtimeapi.ContainerStatus{State: l.states[0]}
	l.states = l.states[1:]
	return nil
}

func TestExitIsKnownOnceCRIShowsIt(t *testing.T) {
	const created, running, exited = runtimeapi.ContainerState_CONTAINER_CREATED,
		runtimeapi.ContainerState_CONTAINER_RUNNING, runtimeapi.ContainerState_CONTAINER_EXITED
	for _, test := range []struct {
		name   string
		states []runtimeapi.ContainerState
	}{
		{"already", []runtimeapi.ContainerState{exited}},
		{"after it was shown running", []runtimeapi.ContainerState{running, running, exited}},
		{"half a minute later, on a busy machine", append(slices.Repeat([]runtimeapi.ContainerState{running}, 24), exited)},
		{"although it exited before its start was over", []runtimeapi.ContainerState{created, running, exited}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				runtime := &late{states: test.states}
				w := watch{runtime: runtimeapi.NewRuntimeServiceClient(runtime)}
				if !w.exitKnown(t.Context(), "c1") || len(runtime.states) > 0 {
					t.Errorf("gave up before %v were shown", runtime.states)
				}
			})
		})
	}
}
