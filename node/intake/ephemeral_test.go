package intake

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

func debugged(image string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		added := corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debug", Image: image}}
		p.Spec.EphemeralContainers = append(p.Spec.EphemeralContainers, added)
	}
}

func TestEphemeralContainersAreAddedToARunningPod(t *testing.T) {
	b := newBench(t)
	invalid := node.ErrInvalid.Error()
	for _, step := range []struct {
		name string
		pod  *corev1.Pod
		want string
		has  int // ephemeral containers, afterwards
	}{
		{"a new pod has none", pod("web", "a:1", debugged("d:1")), invalid, 0},
		{"it is created without", pod("web", "a:1"), "created", 0},
		{"one is added", pod("web", "a:1", debugged("d:1")), "updated", 1},
		{"the same again is no change", pod("web", "a:1", debugged("d:1")), "unchanged", 1},
		{"who says nothing of it leaves it", pod("web", "a:1"), "unchanged", 1},
		{"also with another image", pod("web", "a:2"), "updated", 1},
		{"it is not changed", pod("web", "a:2", debugged("d:2")), invalid, 1},
		{"a pod that is replaced takes none along", pod("web", "a:2", command("x"), debugged("d:1")), invalid, 1},
		{"it is replaced without", pod("web", "a:2", command("x")), "replaced[app]", 0},
		{"and what waits for its turn is not there yet", pod("web", "a:2", command("x"), debugged("d:1")), "updated", 1},
	} {
		if planned := b.plan(step.pod); planned != "would be "+step.want {
			t.Errorf("%s: planned %q, want %q", step.name, planned, step.want)
		}
		if got := b.apply(step.pod); got != step.want {
			t.Errorf("%s: got %q, want %q", step.name, got, step.want)
		}
		view, ok := b.in.Store.View(web)
		if has := 0; ok {
			if has = len(heir(view.Slot).Object.Spec.EphemeralContainers); has != step.has {
				t.Errorf("%s: the pod has %d ephemeral containers, want %d", step.name, has, step.has)
			}
		}
	}
}
