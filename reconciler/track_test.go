package reconciler

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
	"nodal/node/limit"
	"nodal/reconciler/decide"
)

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

func trackOf(got *node.Observed) *Track {
	return NewTrack(&node.Slot{Pod: &node.Pod{Object: &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u1"},
		Spec:       corev1.PodSpec{RestartPolicy: corev1.RestartPolicyAlways, Containers: []corev1.Container{{Name: "app", Image: "app:1"}}},
	}}}, got, true)
}

// upTo is a pod whose container has come as far as a state.
func upTo(state node.ContainerState) *node.Observed {
	return &node.Observed{
		Sandboxes:  []node.Sandbox{{ID: "s0", UID: "u1", State: node.SandboxReady, Inspected: true}},
		Containers: []node.Container{{ID: "c0", SandboxID: "s0", UID: "u1", Name: "app", State: state}},
	}
}

func (t *Track) end(a node.Action, err error, mark node.Mark) {
	t.Begin(a)
	t.Done(Outcome{Action: a, Err: err, Mark: mark, Now: noon})
}

func TestTrackRefusesLooksOfThePast(t *testing.T) {
	for _, c := range []struct {
		name  string
		prior func(*Track)
		mark  node.Mark
		want  bool
	}{
		{"one that began before the last effect", func(t *Track) { t.end(node.StartContainer{ID: "c0"}, nil, 5) }, 4, false},
		{"one that began after the last effect is taken", func(t *Track) { t.end(node.StartContainer{ID: "c0"}, nil, 5) }, 6, true},
		{"one that began before the last look", func(t *Track) { t.See(upTo(node.ContainerRunning), 5, noon) }, 4, false},
		{"one that began after the last look is taken", func(t *Track) { t.See(upTo(node.ContainerRunning), 5, noon) }, 6, true},
		{"one during an effect", func(t *Track) { t.Begin(node.StartContainer{ID: "c0"}) }, 6, false},
		{"one during a pull is taken", func(t *Track) { t.Begin(node.EnsureImage{Container: "app"}) }, 6, true},
		{"one during a stop is taken", func(t *Track) { t.Begin(node.StopContainer{ID: "c0"}) }, 6, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			track := trackOf(upTo(node.ContainerCreated))
			c.prior(track)
			if got := track.See(&node.Observed{}, c.mark, noon); got != c.want {
				t.Errorf("taken = %t, want %t", got, c.want)
			}
			if got := track.Got().Empty(); got != c.want {
				t.Errorf("what was known is gone: %t, want %t", got, c.want)
			}
		})
	}
}

func TestTrackLooksWhenItIsNotSure(t *testing.T) {
	for _, c := range []struct {
		name  string
		prior func(*Track)
		want  bool
	}{
		{"after a success it is sure", func(t *Track) { t.end(node.StartContainer{Container: "app", ID: "c0"}, nil, 1) }, false},
		{"after a failure it looks", func(t *Track) { t.end(node.StartContainer{ID: "c0"}, errors.New("broken"), 1) }, true},
		{"after a call that was given up it looks", func(t *Track) { t.end(node.EnsureImage{Container: "app"}, context.Canceled, 1) }, true},
		{"after news it looks", func(t *Track) { t.Doubt(1) }, true},
		{"a look that began before the news does not end the doubt", func(t *Track) { t.Doubt(3); t.See(upTo(node.ContainerRunning), 2, noon) }, true},
		{"a later one does", func(t *Track) { t.Doubt(3); t.See(upTo(node.ContainerRunning), 4, noon) }, false},
		{"while something is under way it waits", func(t *Track) { t.Doubt(1); t.Begin(node.StartContainer{ID: "c0"}) }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			track := trackOf(upTo(node.ContainerCreated))
			c.prior(track)
			if got := track.Next(decide.Input{Now: noon}).Observe; got != c.want {
				t.Errorf("observe = %t, want %t", got, c.want)
			}
		})
	}
}

func TestAPodEndsThoughALookIsNotAnswered(t *testing.T) {
	ends := &node.Termination{Requested: noon, Reason: "Terminated", Grace: time.Second}
	for _, c := range []struct {
		name   string
		ends   *node.Termination
		flies  node.Action
		unsure bool
		want   bool
	}{
		{"it is to go on", nil, node.InspectContainer{Container: "app", ID: "old"}, false, false},
		{"it is to end", ends, node.InspectContainer{Container: "app", ID: "old"}, false, true},
		{"it is to end while something changes", ends, node.ResizeContainer{Container: "app", ID: "c0"}, false, false},
		{"it is to end, and what there is may have changed", ends, node.InspectContainer{Container: "app", ID: "old"}, true, false},
	} {
		got := upTo(node.ContainerRunning)
		got.Containers[0].Inspected = true
		track := trackOf(got)
		track.slot.Termination, track.unsure = c.ends, c.unsure
		track.Begin(c.flies)
		stops := false
		for _, a := range track.Next(decide.Input{Now: noon}).Actions {
			_, stop := a.(node.StopContainer)
			stops = stops || stop
		}
		if stops != c.want {
			t.Errorf("%s: it stops its container: %v, want %v", c.name, stops, c.want)
		}
	}
}

func TestFailuresRest(t *testing.T) {
	unknown := fmt.Errorf("no answer: %w", node.ErrUnknown)
	pull := &node.Failure{Reason: "ErrImagePull", Err: errors.New("no such image")}
	for _, c := range []struct {
		name   string
		action node.Action
		err    error
		want   []time.Duration
	}{
		{"a pull as upstream has it", node.EnsureImage{Container: "app"}, pull, []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second}},
		{"so does that of a volume", node.EnsureImage{Volume: "v"}, pull, []time.Duration{10 * time.Second, 20 * time.Second}},
		{"a call for a second", node.CreateContainer{Container: "app"}, errors.New("broken"), []time.Duration{time.Second, 2 * time.Second}},
		{"a call without an answer for a moment", node.RunSandbox{}, unknown, []time.Duration{250 * time.Millisecond, 500 * time.Millisecond}},
	} {
		t.Run(c.name, func(t *testing.T) {
			track := trackOf(&node.Observed{})
			for i, want := range c.want {
				track.end(c.action, c.err, node.Mark(i))
				fault := track.Got().Faults[c.action.Target()]
				if got := fault.Retry.Sub(noon); got != want || fault.Count != int32(i+1) {
					t.Errorf("failure %d rests for %s, want %s", fault.Count, got, want)
				}
			}
			track.end(c.action, nil, 9)
			if _, stands := track.Got().Faults[c.action.Target()]; stands {
				t.Error("a success left the failure standing")
			}
		})
	}
}

func TestRepeatedPullFailuresBackOff(t *testing.T) {
	track, pull := trackOf(&node.Observed{}), node.EnsureImage{Container: "app", Ref: "app:1"}
	until := noon.Add(5 * time.Minute)
	for _, want := range []node.Fault{
		{Reason: node.ErrImagePull, Message: "no such image"},
		{Reason: node.ImagePullBackOff, Message: `Back-off pulling image "app:1": ErrImagePull: no such image`},
	} {
		track.end(pull, &node.Failure{Reason: node.ErrImagePull, Err: errors.New("no such image"), Retry: until}, 1)
		got := track.Got().Faults[pull.Target()]
		if got.Reason != want.Reason || got.Message != want.Message || !got.Retry.Equal(until) {
			t.Errorf("got %+v, want %+v until %s, as whoever pulls says", got, want, until)
		}
	}
	track.end(pull, &node.Failure{Reason: node.ErrImageNeverPull, Err: errors.New("not there")}, 2)
	if got := track.Got().Faults[pull.Target()].Reason; got != node.ErrImageNeverPull {
		t.Errorf("got %s, want the reason of what is no failed pull", got)
	}
}

func TestASuccessSeenByALookEndsItsFault(t *testing.T) {
	unknown := fmt.Errorf("no answer: %w", node.ErrUnknown)
	for _, c := range []struct {
		name   string
		action node.Action
		seen   *node.Observed
		want   bool
	}{
		{"a sandbox that is ready", node.RunSandbox{}, upTo(node.ContainerCreated), false},
		{"a sandbox that is not there", node.RunSandbox{}, &node.Observed{}, true},
		{"a container that runs", node.StartContainer{Container: "app", ID: "c0"}, upTo(node.ContainerRunning), false},
		{"a container that does not", node.StartContainer{Container: "app", ID: "c0"}, upTo(node.ContainerCreated), true},
		{"an image says nothing of itself", node.EnsureImage{Container: "app"}, upTo(node.ContainerRunning), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			track := trackOf(&node.Observed{})
			track.end(c.action, unknown, 1)
			track.See(c.seen, 2, noon)
			if _, got := track.Got().Faults[c.action.Target()]; got != c.want {
				t.Errorf("the failure stands: %t, want %t", got, c.want)
			}
		})
	}
}

func TestALookKeepsTheResultsOfInspections(t *testing.T) {
	known := upTo(node.ContainerRunning)
	known.Sandboxes[0].IPs = []string{"10.0.0.1"}
	known.Containers[0].StartedAt, known.Containers[0].Inspected = noon, true
	track := trackOf(known)

	track.See(upTo(node.ContainerRunning), 1, noon)
	if c := track.Got().Containers[0]; !c.Inspected || !c.StartedAt.Equal(noon) {
		t.Errorf("container = %+v, want it as it was", c)
	}
	track.See(upTo(node.ContainerExited), 2, noon)
	if c := track.Got().Containers[0]; c.Inspected || !c.StartedAt.Equal(noon) {
		t.Errorf("container = %+v, want it uninspected with its start", c)
	}
	if s := track.Got().Sandboxes[0]; len(s.IPs) != 1 {
		t.Errorf("sandbox = %+v, want its address", s)
	}
}

func TestNewIntentMakesCallsObsolete(t *testing.T) {
	pull, create := node.EnsureImage{Container: "app"}, node.CreateContainer{Container: "app"}
	for _, c := range []struct {
		name         string
		change       func(*node.Slot)
		pull, create bool
	}{
		{"a deletion ends all", func(s *node.Slot) { s.Pod.Deletion = &node.Deletion{} }, true, true},
		{"another spec ends what waits", func(s *node.Slot) { s.Pod.Object = s.Pod.Object.DeepCopy() }, true, false},
		{"a termination ends what waits", func(s *node.Slot) { s.Termination = &node.Termination{} }, true, false},
		{"a restart ends nothing", func(s *node.Slot) { s.Pod.Restarts = []node.Restart{{Container: "app"}} }, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			track := trackOf(&node.Observed{})
			next := *track.Slot()
			changed := *next.Pod
			next.Pod = &changed
			c.change(&next)
			obsolete := track.Intend(&next)
			ends := func(a node.Action) bool { return obsolete != nil && obsolete(a) }
			if ends(pull) != c.pull || ends(create) != c.create {
				t.Errorf("ends a pull: %t, a create: %t", ends(pull), ends(create))
			}
		})
	}
}

func TestTrackHearsOfTheNewestRunOnly(t *testing.T) {
	word := func(id string) node.Probed {
		return node.Probed{Container: "app", ID: id, Kind: node.ReadinessProbe, OK: true, At: noon}
	}
	track := trackOf(upTo(node.ContainerRunning))
	before := track.Got()
	for _, c := range []struct {
		name string
		word node.Probed
		want bool
	}{
		{"of another run", word("c9"), false},
		{"of another container", node.Probed{Container: "side", ID: "c0", Kind: node.ReadinessProbe, OK: true}, false},
		{"that changes nothing", node.Probed{Container: "app", ID: "c0", Kind: node.LivenessProbe, OK: true}, false},
		{"that does", word("c0"), true},
		{"again", word("c0"), false},
	} {
		t.Run("a word "+c.name, func(t *testing.T) {
			if got := track.Hear(c.word); got != c.want {
				t.Errorf("news = %t, want %t", got, c.want)
			}
		})
	}
	if len(before.Health) > 0 {
		t.Error("what readers have was written")
	}
	if got := track.Got().Health["app"]; !got.Ready || got.ID != "c0" {
		t.Errorf("health = %+v, want it ready", got)
	}
	track.See(upTo(node.ContainerRunning), 1, noon)
	if got := track.Got().Health["app"]; !got.Ready {
		t.Error("a look has made it forget")
	}
	track.See(&node.Observed{}, 2, noon)
	if got := track.Got().Health; len(got) > 0 {
		t.Errorf("health of what is gone: %v", got)
	}
}

func TestRunsThatVanishAreRemembered(t *testing.T) {
	learnt := upTo(node.ContainerExited)
	learnt.Containers[0].Inspected, learnt.Containers[0].ExitCode = true, 3
	for _, c := range []struct {
		name  string
		known *node.Observed
		want  string
	}{
		{"one that ran ended unseen", upTo(node.ContainerRunning), "137 ContainerStatusUnknown"},
		{"one whose end was not learnt ended unseen", upTo(node.ContainerExited), "137 ContainerStatusUnknown"},
		{"one whose end was learnt keeps it", learnt, "3 "},
		{"one that never started leaves nothing", upTo(node.ContainerCreated), "nothing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			track := trackOf(c.known)
			track.See(&node.Observed{}, 1, noon)
			got := "nothing"
			if run := track.Got().Newest("u1", "app"); run != nil {
				got = fmt.Sprintf("%d %s", run.ExitCode, run.Reason)
			}
			if got != c.want {
				t.Errorf("remembered %q, want %q", got, c.want)
			}
			track.See(upTo(node.ContainerRunning), 2, noon)
			if run := track.Got().Newest("u1", "app"); run.State != node.ContainerRunning {
				t.Errorf("what is there again is %s, want it to run", run.State)
			}
		})
	}
}

func TestTheLimitsOfAPodAreKnownForAsLongAsItHasASandbox(t *testing.T) {
	dead := upTo(node.ContainerExited)
	dead.Sandboxes[0].State = node.SandboxNotReady
	for _, c := range []struct {
		name string
		then func(*Track)
		want bool
	}{
		{"a look that finds it", func(t *Track) { t.See(upTo(node.ContainerRunning), 6, noon) }, true},
		{"a look that finds it dead", func(t *Track) { t.See(dead, 6, noon) }, false},
		{"a look that finds nothing", func(t *Track) { t.See(&node.Observed{}, 6, noon) }, false},
		{"it was stopped", func(t *Track) { t.end(node.StopSandbox{ID: "s0"}, nil, 6) }, false},
		{"it was removed", func(t *Track) { t.end(node.RemoveSandbox{ID: "s0"}, nil, 6) }, false},
		{"another one was stopped", func(t *Track) { t.end(node.StopSandbox{ID: "s9"}, nil, 6) }, true},
	} {
		track := trackOf(upTo(node.ContainerRunning))
		track.end(node.SetUpCgroup(limit.Limits{}), nil, 5)
		c.then(track)
		if _, got := track.Got().Part(node.Cgroup, ""); got != c.want {
			t.Errorf("%s: limits are known: %t, want %t", c.name, got, c.want)
		}
	}
}
