package intake

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/cpuset"

	"nodal/node"
	"nodal/node/assign"
)

// sharing is a node with four CPUs, of which it hands out three.
func sharing(t *testing.T) *bench {
	b := newBench(t)
	b.in.Assign = &assign.Rules{
		Topology: assign.Topology{{ID: 0, Core: 0}, {ID: 1, Core: 1}, {ID: 2, Core: 2}, {ID: 3, Core: 3}},
		Static:   true, Reserved: cpuset.New(0),
	}
	return b
}

func owns(cpu string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse("1Gi"),
		}
	}
}

// shares are the CPUs of a pod, and of the one that waits for its name.
func (b *bench) shares(name string) string {
	b.t.Helper()
	view, ok := b.in.Store.View(node.Key{Namespace: "default", Name: name})
	if !ok {
		return "gone"
	}
	text := view.Slot.Pod.Shares["app"].CPUs
	if next := view.Slot.Next; next != nil {
		text += ", then " + next.Shares["app"].CPUs
	}
	return text
}

func TestCPUsAreHandedOutOnce(t *testing.T) {
	b := sharing(t)
	for _, step := range []struct {
		name string
		do   func()
		want map[string]string
	}{
		{"to one pod", func() { b.apply(pod("web", "a:1", owns("2"))) }, map[string]string{"web": "1-2"}},
		{"and what is left to the next", func() { b.apply(pod("db", "a:1", owns("1"))) }, map[string]string{"web": "1-2", "db": "3"}},
		{"a change keeps them", func() { b.apply(pod("web", "a:2", owns("2"))) }, map[string]string{"web": "1-2"}},
		{"who takes over gets those of the one before", func() { b.apply(pod("web", "a:2", owns("2"), command("x"))) }, map[string]string{"web": "1-2, then 1-2"}},
		{"or fewer", func() { b.apply(pod("web", "a:2", owns("1"), command("y"))) }, map[string]string{"web": "1-2, then 1"}},
		{"while both hold theirs", func() { b.apply(pod("late", "a:1", owns("1"))) }, map[string]string{"late": ""}},
		{"until the first has ended", func() {
			_, err := b.in.Store.Transact(func(tx *node.Tx) error {
				next := tx.Get(web).Next
				tx.Put(web, node.NewSlot(next))
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			b.apply(pod("late", "a:1", owns("1")))
		}, map[string]string{"web": "1", "late": ", then 2"}},
	} {
		step.do()
		for name, want := range step.want {
			if got := b.shares(name); got != want {
				t.Errorf("%s: %s has %q, want %q", step.name, name, got, want)
			}
		}
	}
}

func TestAPodForWhichNoCPUIsLeftFails(t *testing.T) {
	b := sharing(t)
	b.apply(pod("web", "a:1", owns("3")), pod("late", "a:1", owns("1")))
	if got, want := b.refused("late"), "Failed UnexpectedAdmissionError"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	b.apply(pod("beside", "a:1", owns("500m")))
	if got := b.refused("beside"); got != "" {
		t.Errorf("a pod that wants none of its own: got %q, want it to run", got)
	}
}

func TestAPodWithCPUsOfItsOwnIsNotResized(t *testing.T) {
	b := sharing(t)
	b.apply(pod("web", "a:1", owns("2")))
	b.post(pod("web", "a:1", owns("1")))
	if got := b.resized("web"); got != "Infeasible at 2" || b.shares("web") != "1-2" {
		t.Errorf("got %s with CPUs %s, want it to keep what it had", got, b.shares("web"))
	}
}
