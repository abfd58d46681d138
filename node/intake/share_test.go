package intake

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/cpuset"

	"nodal/node"
	"nodal/node/assign"
	"nodal/node/store"
)

// sharing is a node with four CPUs, of which it hands out three.
func sharing(t *testing.T) *bench {
	b := newBench(t)
	b.offer.Assign = &assign.Rules{
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
			_, err := b.in.Store.Transact(func(tx *store.Tx) error {
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

// renamed has a file deliver a pod under one name, and then another pod.
func (b *bench) renamed(old, new *corev1.Pod) {
	b.t.Helper()
	for _, p := range []*corev1.Pod{old, new} {
		if problems := b.in.Sync([]Delivery{{Pod: p, Origin: "/static/a.yaml"}}, nil, b.now); len(problems) > 0 {
			b.t.Fatal(problems)
		}
	}
}

func TestARenamedPodWaitsForItsCPUs(t *testing.T) {
	b := sharing(t).as(node.SourceFile)
	b.renamed(pod("old", "a:1", owns("2")), pod("new", "a:1", owns("3")))
	if got := b.view("new").Pod.Awaits; b.refused("new") != "" || len(got) != 1 || got[0].UID != b.view("old").Pod.UID() {
		t.Errorf("new is refused %q and waits for %v, want it to wait for old", b.refused("new"), got)
	}
	if got, want := b.shares("new"), "1-3"; got != want {
		t.Errorf("new has CPUs %q, want %q, of those of old", got, want)
	}
	b.as(node.SourceAPI).apply(pod("late", "a:1", owns("1")))
	if got, want := b.refused("late"), "Failed UnexpectedAdmissionError"; got != want {
		t.Errorf("a pod like any other waits for nobody: got %q, want %q", got, want)
	}
	b.freed("old")
	if got := b.view("new").Pod.Awaits; len(got) != 0 {
		t.Errorf("new waits for %v though old has ended", got)
	}
}

func TestARenamedPodWaitsForItsMemory(t *testing.T) {
	b := sharing(t).as(node.SourceFile)
	b.offer.Assign.Memory = assign.Memory{0: {corev1.ResourceMemory: 1 << 30}}
	b.renamed(pod("old", "a:1", owns("1")), pod("new", "a:1", owns("1")))
	if got := b.view("new").Pod.Awaits; b.refused("new") != "" || len(got) != 1 || got[0].UID != b.view("old").Pod.UID() {
		t.Errorf("new is refused %q and waits for %v, want it to wait for old", b.refused("new"), got)
	}
}

func TestAPodRenamedAndBackWaitsForNeither(t *testing.T) {
	b := sharing(t).as(node.SourceFile)
	b.renamed(pod("old", "a:1", owns("3")), pod("new", "a:1", owns("3")))
	b.renamed(pod("new", "a:1", owns("3")), pod("old", "a:1", owns("3")))
	next := b.view("old").Next
	if next == nil || next.Refused != nil || len(next.Awaits) != 1 || next.Awaits[0].UID != b.view("new").Pod.UID() {
		t.Fatalf("the next old is %+v, want it to wait for new", next)
	}
	b.freed("new")
	if got := b.view("old").Next.Awaits; len(got) != 0 {
		t.Errorf("old waits for %v though new has ended", got)
	}
}

func TestAPodWaitsOnlyForThoseWhoseCPUsItNeeds(t *testing.T) {
	for _, c := range []struct {
		name  string
		wants string
		waits []string
	}{
		{"nobody where enough is free", "1", nil},
		{"as few as leave enough", "2", []string{"b"}},
		{"all where it takes all", "3", []string{"a", "b"}},
		{"nobody where it would be in vain", "4", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := sharing(t)
			b.apply(pod("a", "a:1", owns("1")), pod("b", "a:1", owns("1")))
			for _, name := range []string{"a", "b"} {
				if _, err := b.in.Delete(DeleteRequest{Key: node.Key{Namespace: "default", Name: name}}, b.now); err != nil {
					t.Fatal(err)
				}
			}
			b.apply(pod("vital", "a:1", critical, owns(c.wants)))
			var waits []string
			for _, name := range []string{"a", "b"} {
				if slices.ContainsFunc(b.view("vital").Pod.Awaits, b.view(name).Pod.Life().Is) {
					waits = append(waits, name)
				}
			}
			if !slices.Equal(waits, c.waits) {
				t.Errorf("it waits for %q, want %q", waits, c.waits)
			}
			if got, want := b.refused("vital") == "", c.wants != "4"; got != want {
				t.Errorf("it is taken %t, want %t", got, want)
			}
		})
	}
}
