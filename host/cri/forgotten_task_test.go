package cri

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// forgetful is a containerd that has forgotten tasks of a sandbox's containers.
type forgetful struct {
	grpc.ClientConnInterface
	tasks []string // in the order in which it stumbles over them
	stuck bool     // they cannot be ended
	calls []string
}

func (c *forgetful) Invoke(_ context.Context, method string, _, _ any, _ ...grpc.CallOption) error {
	c.calls = append(c.calls, method[strings.LastIndexByte(method, '/')+1:])
	if len(c.tasks) > 0 {
		return status.Errorf(codes.FailedPrecondition, "failed to delete containerd container: cannot delete running task %s: failed precondition", c.tasks[0])
	}
	return nil
}

// End ends the first of the tasks.
func (c *forgetful) End(_ context.Context, container string) error {
	c.calls = append(c.calls, "End "+container)
	if c.stuck {
		return status.Error(codes.Unknown, "the shim is gone")
	}
	c.tasks = c.tasks[1:]
	return nil
}

func TestForgottenTasksAreEndedBeforeARemoval(t *testing.T) {
	sandbox, container := node.RemoveSandbox{ID: "s"}, node.RemoveContainer{Container: "main", ID: "c"}
	for _, c := range []struct {
		name   string
		remove node.Action
		tasks  []string
		stuck  bool
		want   []string
		err    string
	}{
		{"nothing is in the way", container, nil, false, []string{"RemoveContainer"}, ""},
		{"a container's own", container, []string{"c"}, false,
			[]string{"RemoveContainer", "End c", "RemoveContainer"}, ""},
		{"two in a sandbox", sandbox, []string{"c", "d"}, false,
			[]string{"RemovePodSandbox", "End c", "RemovePodSandbox", "End d", "RemovePodSandbox"}, ""},
		{"one that does not end", sandbox, []string{"c"}, true, []string{"RemovePodSandbox", "End c"}, "the shim is gone"},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn := &forgetful{tasks: c.tasks, stuck: c.stuck}
			link := New(conn, conn, Config{RequestTimeout: time.Minute})
			link.tasks = conn
			pods := NewPods(link, NewHealth(link), PodConfig{}, slog.New(slog.DiscardHandler))
			_, err := pods.Do(t.Context(), &node.Pod{Object: &corev1.Pod{}}, nil, c.remove)
			if !slices.Equal(conn.calls, c.want) {
				t.Errorf("it calls %q, want %q", conn.calls, c.want)
			}
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("it fails with %v, want %q", err, c.err)
			}
		})
	}
}
