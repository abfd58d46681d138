package reconciler_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/manifest"
	sim "nodal/sim/cri"
)

// after has a pod start after others.
func after(object *corev1.Pod, names string) *corev1.Pod {
	object.Annotations = map[string]string{node.AnnotationAfter: names}
	return object
}

// wantWaiting expects a pod of which nothing is there, and the reason that readers see.
func (b *bench) wantWaiting(name, why string) {
	b.Helper()
	s := b.status(name)
	if s.Phase != corev1.PodPending || s.Reason != node.WaitingForPods || s.Message != why {
		b.Errorf("pod %s is %s, %s: %q; want %q", name, s.Phase, s.Reason, s.Message, why)
	}
	for _, box := range b.server.Snapshot().Sandboxes {
		if box.Pod.Name == name {
			b.Errorf("pod %s has a sandbox", name)
		}
	}
}

// asked gives a pod a readiness probe.
func asked(object *corev1.Pod) *corev1.Pod {
	object.Spec.Containers[0].ReadinessProbe = &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"ask"}}},
	}
	manifest.Default(object)
	return object
}

func TestAPodStartsAfterAnotherIsReady(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		b.apply(after(pod("web"), "default/db"))
		b.rest(time.Second)
		b.wantWaiting("web", "it starts after default/db (this node does not have it)")
		b.apply(asked(pod("db")))
		b.rest(time.Second)
		b.wantState("db", "Running running restarts=0 ready=false")
		b.wantWaiting("web", "it starts after default/db (it is not ready)")
		b.says("db", node.ReadinessProbe, true)
		b.rest(time.Second)
		b.wantState("web", "Running running restarts=0 ready=true")
		if got, want := b.reasons(of("web")), "WaitingForPods WaitingForPods SandboxCreated"; !inOrder(got, want) {
			t.Errorf("events = %s, want in it %s", got, want)
		}
	})
}

func TestAPodThatRunsStaysWithoutThoseBeforeIt(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		b.apply(pod("db"))
		b.apply(after(pod("web"), "default/db"))
		b.rest(time.Second)
		b.wantState("web", "Running running restarts=0 ready=true")
		b.delete("db", 0)
		b.rest(time.Second)
		b.wantState("web", "Running running restarts=0 ready=true")
		b.stop()
		b.start()
		b.rest(time.Second)
		b.wantState("web", "Running running restarts=0 ready=true")
		b.wantEffects(map[sim.EffectKind]int{sim.SandboxStarted: 2})
	})
}

func TestAStartOfTheAgentKeepsTheOrder(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		b.apply(after(pod("web"), "default/db"))
		b.apply(asked(pod("db")))
		b.rest(time.Second)
		b.stop()
		b.start()
		b.rest(time.Second)
		b.wantWaiting("web", "it starts after default/db (it is not ready)")
		b.says("db", node.ReadinessProbe, true)
		b.rest(time.Second)
		b.wantState("web", "Running running restarts=0 ready=true")
	})
}

func TestAPodGoesOnOnceItsOrderIsTakenAway(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		b.apply(after(pod("web"), "default/db"))
		b.rest(time.Second)
		b.wantWaiting("web", "it starts after default/db (this node does not have it)")
		b.apply(pod("web"))
		b.rest(time.Second)
		b.wantState("web", "Running running restarts=0 ready=true")
	})
}

func TestAChainOfPodsStartsOneByOne(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		b.apply(after(pod("c"), "default/b"))
		b.apply(after(pod("b"), "default/a"))
		b.rest(time.Second)
		b.apply(pod("a"))
		b.rest(time.Second)
		var begun []string
		for _, e := range b.server.Journal() {
			if e.Kind == sim.ContainerStarted {
				begun = append(begun, e.Pod.Name)
			}
		}
		if want := []string{"a", "b", "c"}; !slices.Equal(begun, want) {
			t.Errorf("the pods began in the order %q, want %q", begun, want)
		}
	})
}
