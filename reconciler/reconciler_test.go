package reconciler_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/admit"
	"nodal/node/offer"
	"nodal/node/store"
	sim "nodal/sim/cri"
)

func everything(*node.Event) bool { return true }

func of(name string) func(*node.Event) bool {
	return func(e *node.Event) bool { return e.Key == key(name) }
}

func TestPodIsBroughtUpAndTornDown(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		b.rest(time.Second)
		b.apply(pod("web"))
		b.rest(time.Second)
		b.wantState("web", "Running running restarts=0 ready=true")
		if got, want := b.reasons(of("web")), "SandboxCreated Created Started Ready"; !inOrder(got, want) {
			t.Errorf("events = %s, want in it %s", got, want)
		}
		b.delete("web", 10*time.Second)
		b.rest(time.Second)
		b.wantGone("web")
		b.wantEffects(map[sim.EffectKind]int{
			sim.SandboxStarted: 1, sim.ContainerCreated: 1, sim.ContainerStarted: 1, sim.SandboxStopped: 1, sim.SandboxRemoved: 1,
		})
		if got, want := b.logs.list(), []string{"web"}; !slices.Equal(got, want) {
			t.Errorf("removed logs = %q, want %q", got, want)
		}
		if got, want := b.reasons(of("web")), "Killing Exited SandboxRemoved Removed"; !inOrder(got, want) {
			t.Errorf("events = %s, want in it %s", got, want)
		}
	})
}

// A run that has begun some time before the runtime says so is shown with one time all along.
func TestTheTimeAtWhichARunBeganNeverChanges(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		b.server.Inject(sim.Faults{Rules: []sim.Rule{
			{Method: "StartContainer", Kind: sim.SlowReply, Delay: 3 * time.Second},
			{Method: "ContainerStatus", Kind: sim.Delay, Delay: 2 * time.Second},
		}})
		b.apply(pod("web"))
		began := time.Now()
		for range 100 {
			b.rest(100 * time.Millisecond)
			if running := b.status("web").ContainerStatuses[0].State.Running; running != nil && !running.StartedAt.Time.Equal(began) {
				b.Errorf("after %s the run is shown to have begun at %s, and it did at %s", time.Since(began), running.StartedAt, began)
				break
			}
		}
		b.wantState("web", "Running running restarts=0 ready=true")
	})
}

// inOrder reports whether got has the words of want in their order.
func inOrder(got, want string) bool {
	words := strings.Fields(want)
	for _, word := range strings.Fields(got) {
		if len(words) > 0 && word == words[0] {
			words = words[1:]
		}
	}
	return len(words) == 0
}

func TestExitIsFollowedByARestart(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		b.apply(pod("web", "exit", "3", "after", "20s"))
		b.rest(19 * time.Second)
		b.wantState("web", "Running running restarts=0 ready=true")
		b.rest(2 * time.Second)
		b.wantState("web", "Running running restarts=1 ready=true")
		last := b.status("web").ContainerStatuses[0].LastTerminationState.Terminated
		if last == nil || last.ExitCode != 3 || last.FinishedAt.Sub(last.StartedAt.Time) != 20*time.Second {
			t.Errorf("last = %+v, want code 3 after 20 s", last)
		}

		// The second crash rests, and the alarm ends that without any news.
		b.rest(20 * time.Second)
		b.wantState("web", "Running CrashLoopBackOff restarts=1 ready=false")
		b.rest(10 * time.Second)
		b.wantState("web", "Running running restarts=2 ready=true")
	})
}

func TestEachBackOffIsCountedAsAnEvent(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		b.apply(pod("web", "exit", "3", "after", "5s"))
		b.rest(80 * time.Second)
		backOff, _, err := b.events.Since(0, func(e *node.Event) bool { return e.Reason == "BackOff" })
		crashes := b.status("web").ContainerStatuses[0].RestartCount // the first crash is followed at once, and the last one waits
		if err != nil || len(backOff) != 1 || backOff[0].Count != crashes || crashes < 2 || !backOff[0].Warning || backOff[0].Container != "main" ||
			!strings.HasPrefix(backOff[0].Message, "Back-off restarting failed container main in pod web_default(") {
			t.Errorf("got %+v (%v), want one event that is counted %d times", backOff, err, crashes)
		}
	})
}

func TestFinishedPodRestsUntilItIsDeleted(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		job := pod("job", "exit", "0", "after", "5s")
		job.Spec.RestartPolicy = corev1.RestartPolicyNever
		b.apply(job)
		b.rest(6 * time.Second)
		b.wantState("job", "Succeeded Completed restarts=0 ready=false")
		b.wantEffects(map[sim.EffectKind]int{sim.SandboxStopped: 1, sim.ContainerRemoved: 0})

		b.stop()
		b.start()
		b.rest(time.Hour)
		b.wantState("job", "Succeeded Completed restarts=0 ready=false")
		b.wantEffects(map[sim.EffectKind]int{sim.ContainerStarted: 1})
		b.delete("job", 0)
		b.rest(time.Second)
		b.wantGone("job")
	})
}

func TestSecondDeletionShortensTheFirst(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		b.apply(pod("web", "ignore-term"))
		b.rest(time.Second)
		b.delete("web", time.Hour)
		b.rest(time.Minute)
		b.wantState("web", "Running running restarts=0 ready=true")
		b.delete("web", 5*time.Second)
		b.rest(4 * time.Second)
		b.wantState("web", "Running running restarts=0 ready=true")
		b.rest(3 * time.Second)
		b.wantGone("web")
	})
}

func TestDeletionEndsAPull(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		slow := pod("web")
		slow.Spec.Containers[0].Image = "slow:1"
		b.apply(slow)
		b.rest(time.Minute)
		b.wantState("web", "Pending ContainerCreating restarts=0 ready=false")
		b.delete("web", 30*time.Second)
		b.rest(time.Second)
		b.wantGone("web")
		b.wantEffects(map[sim.EffectKind]int{sim.ImagePulled: 0})
	})
}

func TestOutageOfTheRuntimeRestartsNothing(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		b.apply(pod("web"))
		b.apply(pod("db"))
		b.rest(time.Second)
		b.server.Crash()
		b.rest(time.Minute)
		b.wantState("web", "Running running restarts=0 ready=true")
		b.apply(pod("late"))
		b.server.Recover()
		b.rest(time.Minute)
		for _, name := range []string{"web", "db", "late"} {
			b.wantState(name, "Running running restarts=0 ready=true")
		}
		b.wantEffects(map[sim.EffectKind]int{sim.SandboxStarted: 3, sim.ContainerStarted: 3, sim.ContainerExited: 0})
		if got, want := b.reasons(everything), "RuntimeReady RuntimeLost RuntimeReady"; !inOrder(got, want) {
			t.Errorf("events = %s, want in it %s", got, want)
		}
	})
}

func TestRestartOfTheAgentRestartsNothing(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		b.apply(pod("web"))
		b.apply(pod("crashing", "exit", "1", "after", "3s"))
		b.rest(5 * time.Second)
		before := b.status("crashing").ContainerStatuses[0].LastTerminationState.Terminated
		b.stop()
		b.start()
		b.rest(100 * time.Millisecond)
		b.wantState("web", "Running running restarts=0 ready=true")
		b.wantState("crashing", "Running running restarts=1 ready=true")
		after := b.status("crashing").ContainerStatuses[0].LastTerminationState.Terminated
		if after == nil || *after != *before {
			t.Errorf("the last run was %+v and is %+v", before, after)
		}
		b.wantEffects(map[sim.EffectKind]int{sim.SandboxStarted: 2, sim.ContainerStarted: 3})
		if got := b.reasons(of("web")); got != "" {
			t.Errorf("events = %s, want no news of a pod that only goes on", got)
		}
	})
}

func TestContainerThatEndsWhileTheAgentIsAwayIsFollowedUp(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		b.apply(pod("web", "exit", "4", "after", "10s"))
		b.rest(time.Second)
		b.stop()
		b.rest(time.Minute)
		b.start()
		b.rest(time.Second)
		b.wantState("web", "Running running restarts=1 ready=true")
	})
}

func TestStraysAreRemovedOnlyOnceEverySourceHasDelivered(t *testing.T) {
	inBubble(t, true, func(b *bench) {
		b.apply(pod("web"))
		b.rest(time.Second)
		b.wantState("web", "Running running restarts=0 ready=true")

		// The agent comes back without its record: the pod is unwanted.
		b.stop()
		b.journal.Commit(store.Record{Name: "pods/default_web"})
		b.start()
		b.rest(time.Hour)
		if _, ok := b.store.View(key("web")); ok {
			t.Error("a pod was taken for unwanted before files had delivered")
		}
		b.wantEffects(map[sim.EffectKind]int{sim.ContainerExited: 0})

		b.sources.Delivered(node.SourceFile, time.Now(), nil)
		b.rest(time.Second)
		b.wantGone("web")
		b.wantEffects(map[sim.EffectKind]int{sim.ContainerSignaled: 1, sim.ContainerExited: 1})
	})
}

func TestPodThatComesBackTakesItsContainersUp(t *testing.T) {
	inBubble(t, true, func(b *bench) {
		object := pod("web")
		object.UID = "static-1"
		b.apply(object)
		b.rest(time.Second)
		b.stop()
		b.journal.Commit(store.Record{Name: "pods/default_web"})
		b.start()
		b.rest(time.Second)
		b.apply(object)
		b.sources.Delivered(node.SourceFile, time.Now(), nil)
		b.rest(time.Second)
		b.wantState("web", "Running running restarts=0 ready=true")
		b.wantEffects(map[sim.EffectKind]int{sim.ContainerStarted: 1, sim.ContainerExited: 0})
	})
}

func TestReplacedPodWaitsForTheOldOne(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		b.apply(pod("web", "slow-term", "8s"))
		b.rest(time.Second)
		b.apply(pod("web", "run"))
		b.rest(7 * time.Second)
		b.wantEffects(map[sim.EffectKind]int{sim.SandboxStarted: 1})
		b.rest(2 * time.Second)
		b.wantState("web", "Running running restarts=0 ready=true")
		kinds := []sim.EffectKind{}
		for _, e := range b.server.Journal() {
			if e.Kind == sim.SandboxStarted || e.Kind == sim.SandboxRemoved {
				kinds = append(kinds, e.Kind)
			}
		}
		if want := []sim.EffectKind{sim.SandboxStarted, sim.SandboxRemoved, sim.SandboxStarted}; !slices.Equal(kinds, want) {
			t.Errorf("effects = %q, want %q", kinds, want)
		}
	})
}

func TestLostReplyIsNotRepeated(t *testing.T) {
	for _, method := range []string{"RunPodSandbox", "CreateContainer", "StartContainer"} {
		t.Run("of "+method, func(t *testing.T) {
			inBubble(t, false, func(b *bench) {
				b.server.Inject(sim.Faults{Rules: []sim.Rule{{Method: method, Nth: 1, Kind: sim.LostReply}}})
				b.apply(pod("web"))
				b.rest(time.Minute)
				b.wantState("web", "Running running restarts=0 ready=true")
				b.wantEffects(map[sim.EffectKind]int{sim.SandboxStarted: 1, sim.ContainerCreated: 1, sim.ContainerStarted: 1})
				if got := b.status("web"); got.Reason != "" {
					t.Errorf("a pod that is well has reason %s: %s", got.Reason, got.Message)
				}
			})
		})
	}
}

func TestPodsThatEndTogetherDoNotComeBack(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		names := []string{"a", "b", "c", "d", "e", "f"}
		for _, name := range names {
			b.apply(pod(name))
		}
		b.rest(time.Second)
		for _, name := range names {
			b.wantState(name, "Running running restarts=0 ready=true")
		}
		b.server.Inject(sim.Faults{Rules: []sim.Rule{{Method: "List*", Kind: sim.SlowReply, Delay: 30 * time.Millisecond}}})
		for i, name := range names {
			b.delete(name, 0)
			b.rest(time.Duration(i) * 7 * time.Millisecond)
		}
		b.rest(time.Minute)
		for _, name := range names {
			b.wantGone(name)
		}
		again := b.reasons(func(e *node.Event) bool { return e.Reason == "Removed" })
		if got := len(strings.Fields(again)); got != len(names) {
			t.Errorf("%d pods were removed, want %d", got, len(names))
		}
	})
}

func TestANodeThatRunsShortKeepsWhatItHasAndTakesNothingMore(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		short := admit.Present{Pressures: []corev1.NodeConditionType{corev1.NodeMemoryPressure}}
		b.apply(pod("early"))
		b.rest(time.Second)
		b.intake.Present = func() admit.Present { return short }
		b.apply(pod("late"))
		b.rest(time.Second)
		s := b.status("late")
		if s.Phase != corev1.PodFailed || s.Reason != "Evicted" || s.Message != "Pod was rejected: The node had condition: [MemoryPressure]. " {
			t.Errorf("got %s, %s, %q; want it refused for MemoryPressure", s.Phase, s.Reason, s.Message)
		}
		if got, want := b.reasons(of("late")), "Evicted"; got != want {
			t.Errorf("events of the refused pod = %q, want %q", got, want)
		}
		b.stop()
		b.start()
		b.intake.Present = func() admit.Present { return short }
		b.rest(time.Second)
		b.wantState("early", "Running running restarts=0 ready=true")
		b.wantEffects(map[sim.EffectKind]int{sim.SandboxStarted: 1, sim.ContainerStarted: 1})
	})
}

func TestARefusedPodHasFailedAndMakesNothing(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		b.intake.Offer = func() offer.Offer {
			return offer.Offer{Node: admit.Node{Labels: map[string]string{"disk": "ssd"}}}
		}
		b.rest(time.Second)
		elsewhere := pod("web")
		elsewhere.Spec.NodeSelector = map[string]string{"disk": "hdd"}
		b.apply(elsewhere)
		b.rest(time.Second)
		if s := b.status("web"); s.Phase != corev1.PodFailed || s.Reason != "NodeAffinity" || s.StartTime == nil {
			t.Errorf("got %s, %s, started %v; want it failed for NodeAffinity", s.Phase, s.Reason, s.StartTime)
		}
		b.wantEffects(map[sim.EffectKind]int{})
		b.stop()
		b.start()
		b.rest(time.Second)
		if got, want := b.reasons(of("web")), ""; got != want {
			t.Errorf("events after a restart = %q, want none", got)
		}
		b.delete("web", 10*time.Second)
		b.rest(time.Second)
		b.wantGone("web")
	})
}
