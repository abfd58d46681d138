package reconciler_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"nodal/node"
	sim "nodal/sim/cri"
)

// with returns a pod whose container asks for CPU.
func with(cpu string) *corev1.Pod {
	p := pod("web", "run")
	list := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: list, Limits: list}
	return p
}

func TestAResizeIsCountedOnceItIsMade(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		b.apply(with("100m"))
		b.rest(time.Minute)
		b.server.Inject(sim.Faults{Rules: []sim.Rule{{Method: "UpdateContainerResources", Kind: sim.ErrorBefore, Code: 13}}})
		b.apply(with("200m"))
		b.rest(time.Hour)
		b.server.Inject(sim.Faults{})
		b.rest(time.Hour)
		b.apply(with("300m"))
		b.rest(time.Minute)
		b.counts.mu.Lock()
		defer b.counts.mu.Unlock()
		if want := []bool{false, true, true}; !slices.Equal(b.counts.resized, want) {
			t.Errorf("got resizes %v, want one that fails, the same again once it is made, and another", b.counts.resized)
		}
		if want := []string{"pod_updated", "pod_updated"}; !slices.Equal(b.counts.changed, want) {
			t.Errorf("got changes %q, want %q", b.counts.changed, want)
		}
		if !slices.Contains(b.counts.did, "ResizeContainer") {
			t.Errorf("got actions %q", b.counts.did)
		}
	})
}

// resizes returns the events about resizes.
func (b *bench) resizes() string {
	return b.reasons(func(e *node.Event) bool { return strings.HasPrefix(e.Reason, "Resize") && e.Reason != "Resized" })
}

func TestAResizeIsToldInKubernetesWords(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		b.apply(with("100m"))
		b.rest(time.Minute)
		b.server.Inject(sim.Faults{Rules: []sim.Rule{{Method: "UpdateContainerResources", Kind: sim.ErrorBefore, Code: 13}}})
		b.apply(with("200m"))
		b.rest(time.Hour)
		b.server.Inject(sim.Faults{})
		b.rest(time.Hour)
		b.change("web", func(p *node.Pod) { p.Resize = &node.Resize{Reason: corev1.PodReasonInfeasible, Message: "too much"} })
		b.rest(time.Minute)
		b.change("web", func(p *node.Pod) { p.Resize = &node.Resize{Reason: corev1.PodReasonDeferred, Message: "later"} })
		b.rest(time.Minute)
		if got, want := b.resizes(), "ResizeStarted ResizeError ResizeCompleted ResizeInfeasible ResizeDeferred"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		events, _, err := b.events.Since(0, func(e *node.Event) bool { return e.Reason == "ResizeInfeasible" })
		const want = `Pod resize Infeasible: {"containers":[{"name":"main","resources":{"limits":{"cpu":"200m"},"requests":{"cpu":"200m"}}}],` +
			`"generation":2,"error":"too much"}`
		if err != nil || len(events) != 1 || events[0].Message != want || !events[0].Warning {
			t.Errorf("got %+v, %v, want %s", events, err, want)
		}
	})
}
