package cri

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/node"
)

func appendText(data []byte, number protowire.Number, text string) []byte {
	return protowire.AppendString(protowire.AppendTag(data, number, protowire.BytesType), text)
}

// envelope encodes an event as containerd does, with fields that nobody asked for.
func envelope(topic, container, process string) []byte {
	body := appendText(nil, 1, container)
	if process != "" {
		body = appendText(body, 2, process)
	}
	body = protowire.AppendVarint(protowire.AppendTag(body, 3, protowire.VarintType), 4711)
	wrapped := appendText(appendText(nil, 1, "containerd.events.X"), 2, string(body))
	data := appendText(nil, 2, "k8s.io")
	data = appendText(data, 3, topic)
	return appendText(data, 4, string(wrapped))
}

func readEvent(data []byte) (containerdEvent, error) {
	envelope, err := parseMessage(data)
	if err != nil {
		return containerdEvent{}, err
	}
	return eventOf(envelope)
}

func TestContainerdEventsBecomeHints(t *testing.T) {
	for _, test := range []struct {
		name                      string
		topic, container, process string
		woken                     bool
		relisted                  bool
	}{
		{"the end of a known container", topicExit, "c1", "c1", true, false},
		{"the end of a command in it", topicExit, "c1", "e1", false, false},
		{"a known container out of memory", topicOOM, "c1", "", true, false},
		{"a known container that somebody removed", topicDelete, "c1", "", true, false},
		{"the end of an unknown container", topicExit, "c2", "c2", false, true},
		{"the removal of an unknown container", topicDelete, "c2", "", false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				exited := &late{states: []runtimeapi.ContainerState{runtimeapi.ContainerState_CONTAINER_EXITED}}
				r := New(exited, nil, Config{}, slog.New(slog.DiscardHandler))
				key := node.Key{Namespace: "default", Name: "web"}
				r.keys.put("c1", key)
				event, err := readEvent(envelope(test.topic, test.container, test.process))
				if err != nil {
					t.Fatal(err)
				}
				woken, relisted := false, false
				r.hear(t.Context(), event, func(k node.Key) { woken = k == key }, func() { relisted = true })
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
				r := New(runtime, nil, Config{}, slog.New(slog.DiscardHandler))
				if !r.exitKnown(t.Context(), "c1") || len(runtime.states) > 0 {
					t.Errorf("gave up before %v were shown", runtime.states)
				}
			})
		})
	}
}

func TestMalformedEventsAreAnError(t *testing.T) {
	whole := envelope(topicExit, "c1", "c1")
	for _, data := range [][]byte{{0xff}, whole[:len(whole)-1], appendText(nil, 4, "\xff")} {
		if _, err := readEvent(data); !errors.Is(err, errMalformed) {
			t.Errorf("%q: got %v, want it to be called malformed", data, err)
		}
	}
}

func FuzzReadEvent(f *testing.F) {
	f.Add(envelope(topicExit, "c1", "c1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := readEvent(data); err != nil && !errors.Is(err, errMalformed) {
			t.Errorf("got %v, want no error or a malformed event", err)
		}
	})
}
