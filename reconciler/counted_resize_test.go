package reconciler_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

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
