package reconciler

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"nodal/node"
	"nodal/reconciler/decide"
)

func TestHowAHookEnded(t *testing.T) {
	failed := node.RunHook{}.Failure(errors.New("exit code 1"))
	unknown := fmt.Errorf("no answer: %w", node.ErrUnknown)
	first := node.RunHook{Kind: node.PostStart, Container: "app", ID: "c0"}
	again := first
	again.Again = true
	stop := node.RunHook{Kind: node.PreStop, Container: "app", ID: "c0", Until: noon.Add(time.Minute), Reason: "deleted"}
	other := first
	other.ID = "c9"
	over := node.Hooks{Until: stop.Until, Reason: "deleted", Ended: true}
	begun := over
	begun.Ended = false
	for _, c := range []struct {
		name   string
		hook   node.RunHook
		err    error
		hooks  node.Hooks
		health node.Health
		fault  bool
	}{
		{"a postStart hook that succeeds", first, nil, node.Hooks{}, node.Health{ID: "c0", Hooked: noon}, false},
		{"one that fails condemns its run", first, failed, node.Hooks{}, node.Health{ID: "c0", Failed: node.FailedHook, FailedAt: noon}, false},
		{"one that fails when it is repeated does not", again, failed, node.Hooks{}, node.Health{ID: "c0", Hooked: noon}, false},
		{"one without an answer is repeated", first, unknown, node.Hooks{}, node.Health{}, true},
		{"one of a run that is gone", other, nil, node.Hooks{Fresh: true}, node.Health{}, false},
		{"a preStop hook that succeeds", stop, nil, over, node.Health{}, false},
		{"one that fails is over too", stop, failed, over, node.Health{}, false},
		{"one without an answer has begun", stop, unknown, begun, node.Health{}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := upTo(node.ContainerRunning)
			got.Containers[0].Hooks.Fresh = true
			if c.hook.Kind == node.PreStop {
				got.Containers[0].Hooks.Fresh = false
			}
			track := trackOf(got)
			track.end(c.hook, c.err, 1)
			run := track.Got().Containers[0]
			if run.Hooks != c.hooks || track.Got().Health["app"] != c.health {
				t.Errorf("got %+v and %+v, want %+v and %+v", run.Hooks, track.Got().Health["app"], c.hooks, c.health)
			}
			if _, fault := track.Got().Faults[c.hook.Target()]; fault != c.fault {
				t.Errorf("a fault stands: %t, want %t", fault, c.fault)
			}
		})
	}
}

// Only a run that this agent has started is one in which nothing was tried.
func TestWhichRunsAreFresh(t *testing.T) {
	for _, c := range []struct {
		name  string
		track *Track
		learn func(*Track)
		want  bool
	}{
		{"one that was started", trackOf(upTo(node.ContainerCreated)), func(t *Track) { t.end(node.StartContainer{ID: "c0"}, nil, 1) }, true},
		{"one whose start had no answer", trackOf(upTo(node.ContainerCreated)), func(t *Track) { t.See(upTo(node.ContainerRunning), 1, noon) }, true},
		{"one that was found", trackOf(&node.Observed{}), func(t *Track) { t.See(upTo(node.ContainerRunning), 1, noon) }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.learn(c.track)
			c.track.end(node.InspectContainer{ID: "c0"}, nil, 2)
			c.track.See(upTo(node.ContainerRunning), 3, noon)
			if got := c.track.Got().Containers[0].Hooks.Fresh; got != c.want {
				t.Errorf("fresh = %t, want %t", got, c.want)
			}
		})
	}
}

func TestHooksGoOnUntilTheirRunEnds(t *testing.T) {
	postStart, preStop := node.RunHook{Kind: node.PostStart, ID: "c0"}, node.RunHook{Kind: node.PreStop, ID: "c0"}
	deletion := func(s *node.Slot) { s.Pod.Deletion = &node.Deletion{Requested: noon, Grace: time.Minute} }
	for _, c := range []struct {
		name   string
		hook   node.RunHook
		state  node.ContainerState
		change func(*node.Slot)
		want   bool // that it is given up
	}{
		{"a postStart hook of what runs", postStart, node.ContainerRunning, func(*node.Slot) {}, false},
		{"another spec", postStart, node.ContainerRunning, func(s *node.Slot) { s.Pod.Object = s.Pod.Object.DeepCopy() }, false},
		{"the end of its run", postStart, node.ContainerExited, func(*node.Slot) {}, true},
		{"a deletion", postStart, node.ContainerRunning, deletion, true},
		{"a deadline", postStart, node.ContainerRunning, func(s *node.Slot) { s.Termination = &node.Termination{Requested: noon} }, true},
		{"a deletion during a preStop hook", preStop, node.ContainerRunning, deletion, false},
		{"the end of a run during a preStop hook", preStop, node.ContainerExited, deletion, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			track := trackOf(upTo(c.state))
			track.Begin(c.hook)
			next := *track.Slot()
			changed := *next.Pod
			next.Pod = &changed
			c.change(&next)
			if obsolete := track.Intend(&next); obsolete != nil && obsolete(c.hook) {
				t.Error("the new intent makes it obsolete")
			}
			if got := len(track.Next(decide.Input{Now: noon}).Cancel) == 1; got != c.want {
				t.Errorf("given up: %t, want %t", got, c.want)
			}
		})
	}
}
