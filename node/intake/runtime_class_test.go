package intake

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
)

func millis(cpu int64) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(cpu, resource.DecimalSI)}
}

func class(handler string, cpu int64) *node.Object {
	return node.NewObject(&nodev1.RuntimeClass{
		ObjectMeta: metav1.ObjectMeta{Name: "walled"}, Handler: handler, Overhead: &nodev1.Overhead{PodFixed: millis(cpu)},
	})
}

func inClass(overhead corev1.ResourceList) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.RuntimeClassName = new("walled")
		p.Spec.Overhead = overhead
	}
}

// runsIn says what became of a pod: its handler and its overhead.
func (b *bench) runsIn(name string) string {
	view, ok := b.in.Store.View(node.Key{Namespace: "default", Name: name})
	if !ok {
		return "nothing"
	}
	pod := heir(view.Slot)
	return pod.Handler + " " + pod.Object.Spec.Overhead.Cpu().String()
}

func TestPodCopiesItsRuntimeClass(t *testing.T) {
	b := newBench(t)
	post := func(deliveries ...Delivery) string {
		outcomes, _, err := b.in.Apply(deliveries, b.now)
		return b.tell(outcomes, err)
	}
	drop := func() string {
		if err := b.in.DeleteObject(node.ObjectRef{Kind: node.RuntimeClass, Name: "walled"}, b.now); err != nil {
			return err.Error()
		}
		return "dropped"
	}
	invalid := node.ErrInvalid.Error()
	for _, step := range []struct {
		name, got, want string // each is done while the table is written
	}{
		{"a class that is not there", post(Delivery{Pod: pod("web", "a:1", inClass(nil))}), invalid},
		{"a class behind its pod in the bundle", post(Delivery{Pod: pod("web", "a:1", inClass(nil))}, Delivery{Object: class("kata", 250), Document: 1}), "created created"},
		{"the same pod again", post(Delivery{Pod: pod("web", "a:1", inClass(nil))}), "unchanged"},
		{"the pod with the overhead spelt out", post(Delivery{Pod: pod("web", "a:1", inClass(millis(250)))}), "unchanged"},
		{"another overhead", post(Delivery{Pod: pod("web", "a:1", inClass(millis(1)))}), invalid},
		{"the class with another handler", post(Delivery{Object: class("gvisor", 250)}), invalid},
		{"the class with another overhead", post(Delivery{Object: class("kata", 500)}), "updated"},
		{"the pod once more", post(Delivery{Pod: pod("web", "a:1", inClass(nil))}), "unchanged"},
		{"the pod with another image", post(Delivery{Pod: pod("web", "a:2", inClass(nil))}), "updated"},
		{"the class goes", drop(), "dropped"},
		{"the pod without its class", post(Delivery{Pod: pod("web", "a:3", inClass(nil))}), "updated"},
		{"a new pod in its place", post(Delivery{Pod: pod("web", "a:3", inClass(nil), command("x"))}), invalid},
	} {
		if step.got != step.want {
			t.Errorf("%s: got %q, want %q", step.name, step.got, step.want)
		}
	}
	if got := b.runsIn("web"); got != "kata 250m" {
		t.Errorf("the pod runs in %q, want what the class said when it was accepted", got)
	}
}

func TestOverheadOfARuntimeClassIsCounted(t *testing.T) {
	b := small(t)
	outcomes, _, err := b.in.Apply([]Delivery{{Object: class("kata", 500)}, {Pod: pod("web", "a:1", asks("600m"), inClass(nil)), Document: 1}}, b.now)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(outcomes[1].Warnings, ""); !strings.Contains(got, "OutOfcpu") || !strings.Contains(got, "requests 1100m of cpu") {
		t.Errorf("got %q, want it refused with the overhead counted", got)
	}
}
