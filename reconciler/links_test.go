package reconciler_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"nodal/node"
	"nodal/reconciler"
)

// seenRuntime answers inspections with one container, and notes what was linked when it removed something.
type seenRuntime struct {
	reconciler.Runtime
	logs   *logs
	answer node.Container
	left   []string // links that were there when something was removed
}

func (r *seenRuntime) Do(_ context.Context, _ *node.Pod, _ *node.Observed, a node.Action) (node.Result, error) {
	switch a.(type) {
	case node.InspectContainer:
		return node.Result{Container: &r.answer}, nil
	case node.RemoveContainer, node.RemoveSandbox:
		r.left = r.logs.found()
	}
	return node.Result{}, nil
}

func TestLogIsLinkedOnceItsRunHasBegun(t *testing.T) {
	start, inspect := node.StartContainer{ID: "c"}, node.InspectContainer{ID: "c"}
	for _, c := range []struct {
		name   string
		action node.Action
		state  node.ContainerState
		log    string
		linked bool
	}{
		{"a run that is started", start, node.ContainerRunning, "/log", true},
		{"a run that is found", inspect, node.ContainerRunning, "/log", true},
		{"a run that has ended", inspect, node.ContainerExited, "/log", true},
		{"a run that has not begun", inspect, node.ContainerCreated, "/log", false},
		{"a run without a log", inspect, node.ContainerRunning, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, seen := &logs{}, node.Container{ID: "c", State: c.state, LogPath: c.log}
			act := reconciler.Act{Runtime: &seenRuntime{logs: l, answer: seen}, Logs: l}
			p := &node.Pod{Object: pod("web")}
			if _, err := act.Do(t.Context(), p.Key(), p, &node.Observed{}, c.action); err != nil {
				t.Fatal(err)
			}
			if got := slices.Contains(l.found(), "c"); got != c.linked {
				t.Errorf("linked is %t, want %t", got, c.linked)
			}
		})
	}
}

func TestLinksGoBeforeTheirRuns(t *testing.T) {
	got := &node.Observed{Containers: []node.Container{
		{ID: "one", SandboxID: "s"}, {ID: "two", SandboxID: "s"}, {ID: "other", SandboxID: "o"},
	}}
	for _, c := range []struct {
		action node.Action
		want   []string
	}{
		{node.RemoveContainer{ID: "one"}, []string{"two", "other"}},
		{node.RemoveSandbox{ID: "s"}, []string{"other"}},
	} {
		l := &logs{linked: []string{"one", "two", "other"}}
		runtime := &seenRuntime{logs: l}
		p := &node.Pod{Object: pod("web")}
		act := reconciler.Act{Runtime: runtime, Logs: l}
		if _, err := act.Do(t.Context(), p.Key(), p, got, c.action); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(runtime.left, c.want) {
			t.Errorf("%s: linked were %q, want %q", c.action, runtime.left, c.want)
		}
	}
}

func TestAgentThatFollowsACrashLinksEachRun(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		b.apply(pod("web", "run"))
		b.rest(time.Second)
		begun := b.logs.found()
		if len(begun) != 1 {
			t.Fatalf("linked are %q, want the run", begun)
		}
		b.stop()
		*b.logs = logs{} // as if the crash had come between start and link
		b.start()
		b.rest(time.Second)
		if got := b.logs.found(); !slices.Equal(got, begun) {
			t.Errorf("linked are %q, want %q", got, begun)
		}
		b.delete("web", 0)
		b.rest(time.Minute)
		if got := b.logs.found(); len(got) > 0 {
			t.Errorf("links %q of a pod that is gone are left", got)
		}
	})
}
