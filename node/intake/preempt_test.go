package intake

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"nodal/node"
	"nodal/node/store"
)

func critical(p *corev1.Pod) { p.Spec.PriorityClassName = "system-node-critical" }

// lone is a node with one processor, and places enough.
func lone(t *testing.T) *bench {
	b := small(t)
	b.offer.Allocatable[corev1.ResourcePods] = resource.MustParse("9")
	return b
}

func (b *bench) view(name string) *node.Slot {
	b.t.Helper()
	view, ok := b.in.Store.View(node.Key{Namespace: "default", Name: name})
	if !ok {
		b.t.Fatalf("there is no pod %s", name)
	}
	return view.Slot
}

// ends reports whether a pod has to make way.
func (b *bench) ends(name string) bool {
	t := b.view(name).Termination
	return t != nil && t.Reason == node.Preempting && t.Message == "Preempted in order to admit critical pod" && t.Grace == 0
}

// freed ends a pod for good, and wakes those that wait.
func (b *bench) freed(name string) {
	b.t.Helper()
	key := node.Key{Namespace: "default", Name: name}
	if _, err := b.in.Store.Transact(func(tx *store.Tx) error {
		slot := *tx.Get(key)
		slot.Result = &corev1.PodStatus{Phase: corev1.PodFailed}
		tx.Put(key, &slot)
		b.in.Readmit(tx, b.now)
		return nil
	}); err != nil {
		b.t.Fatal(err)
	}
}

func TestPodsArePreemptedForACriticalOne(t *testing.T) {
	b := lone(t)
	var told []string
	b.in.Preempted = func(pod *node.Pod, lack corev1.ResourceName) {
		told = append(told, pod.Object.Name+" for "+string(lack))
	}
	b.apply(pod("web", "a:1", asks("800m")))
	const why = "pod default/web has to end to make room for it"
	vital := []Delivery{{Pod: pod("vital", "a:1", critical, asks("500m"))}}
	planned, err := b.in.Plan(vital, b.now)
	if err != nil || !slices.Equal(planned[0].Warnings, []string{why}) || b.ends("web") || told != nil {
		t.Errorf("the plan says %q, %v, of it came true %t, %q; want %q and nothing", planned[0].Warnings, err, b.ends("web"), told, why)
	}
	done, _, err := b.in.Apply(vital, b.now)
	if err != nil || !slices.Equal(done[0].Warnings, planned[0].Warnings) {
		t.Errorf("who applies is told %q, %v; want what was planned", done[0].Warnings, err)
	}
	if !b.ends("web") || b.refused("vital") != "" || !slices.Equal(told, []string{"web for cpu"}) {
		t.Errorf("web ends %t, vital is refused %q, told is %q; want web to end for vital and its CPU", b.ends("web"), b.refused("vital"), told)
	}
	if got := b.view("vital").Pod.Awaits; len(got) != 1 || got[0].UID != b.view("web").Pod.UID() {
		t.Errorf("vital waits for %v, want the end of web", got)
	}
	b.apply(pod("late", "a:1", asks("300m")))
	if got, want := b.refused("late"), "Failed OutOfcpu"; got != want {
		t.Errorf("beside both late is %q, want %q", got, want)
	}
	b.freed("late")
	if got := b.view("vital").Pod.Awaits; len(got) != 1 {
		t.Errorf("vital waits for %v, want still for web", got)
	}
	b.freed("web")
	if got := b.view("vital").Pod.Awaits; len(got) != 0 {
		t.Errorf("vital waits for %v though web has ended", got)
	}
}

func TestPreemptionHappensOnlyIfItHelps(t *testing.T) {
	b := lone(t)
	b.apply(pod("web", "a:1", asks("800m")))
	b.apply(pod("huge", "a:1", critical, asks("2")))
	b.offer.Assign = sharing(t).offer.Assign
	b.offer.Assign.Reserved = b.offer.Assign.Topology.All()
	b.apply(pod("apart", "a:1", critical, owns("1")))
	if b.ends("web") || b.refused("huge") != "Failed OutOfcpu" || b.refused("apart") == "" {
		t.Errorf("web ends %t, huge is %q, apart %q; want both refused and web to go on", b.ends("web"), b.refused("huge"), b.refused("apart"))
	}
}

func TestAFullDiskUndoesAPreemption(t *testing.T) {
	b := lone(t)
	b.apply(pod("web", "a:1", asks("800m")))
	b.journal.full = true
	if got, want := b.apply(pod("vital", "a:1", critical, asks("500m"))), node.ErrNoSpace.Error(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if b.ends("web") {
		t.Error("web has to end for a pod that was not taken")
	}
}

func TestCriticalPodsShareTheRoomOfOnePreemptedPod(t *testing.T) {
	b := lone(t)
	b.apply(pod("web", "a:1", asks("1")))
	b.apply(pod("one", "a:1", critical, asks("300m")))
	b.apply(pod("side", "a:1", asks("500m")))
	b.apply(pod("two", "a:1", critical, asks("600m")))
	if got := b.view("two").Pod.Awaits; b.refused("two") != "" || len(got) != 1 || got[0].UID != b.view("web").Pod.UID() {
		t.Errorf("two is refused %q and waits for %v, want it to wait for web, which ends already", b.refused("two"), got)
	}
	b.freed("web")
	for _, name := range []string{"one", "two"} {
		if got := b.view(name).Pod.Awaits; len(got) != 0 {
			t.Errorf("%s waits for %v though web has ended", name, got)
		}
	}
}

func TestAWaitingSuccessorIsPreempted(t *testing.T) {
	b := lone(t)
	b.apply(pod("web", "a:1", asks("800m")))
	b.apply(pod("web", "a:1", asks("900m"), command("sh")))
	b.apply(pod("vital", "a:1", critical, asks("500m")))
	slot := b.view("web")
	if r := slot.Next.Refused; r == nil || r.Reason != node.Preempting || slot.Termination != nil {
		t.Errorf("the next web is refused for %v, want it to have made way", r)
	}
	if got := b.view("vital").Pod.Awaits; len(got) != 1 || !got[0].Is(slot.Pod.Life()) {
		t.Errorf("vital waits for %v, want the end of the first web", got)
	}
	b.apply(pod("late", "a:1", asks("300m")))
	if got, want := b.refused("late"), "Failed OutOfcpu"; got != want {
		t.Errorf("beside the first web, which ends yet, late is %q, want %q", got, want)
	}
}

func TestASuccessorOfTheSameUIDIsNotWaitedFor(t *testing.T) {
	b := lone(t)
	b.apply(pod("web", "a:1", uid("u"), asks("800m")))
	b.apply(pod("vital", "a:1", critical, asks("500m")))
	b.wait(time.Second)
	b.put(func(slot *node.Slot) {
		later := *slot.Pod
		later.Accepted = b.now
		slot.Pod, slot.Termination = &later, nil
	})
	if _, err := b.in.Store.Transact(func(tx *store.Tx) error {
		b.in.Readmit(tx, b.now)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if got := b.view("vital").Pod.Awaits; len(got) != 0 {
		t.Errorf("vital waits for %v, which is there no more", got)
	}
}

func TestAPreemptedPodReleasesItsCPUs(t *testing.T) {
	b := sharing(t)
	b.offer.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3")}
	b.apply(pod("web", "a:1", owns("3")))
	b.apply(pod("vital", "a:1", critical, owns("2")))
	if got, want := b.view("vital").Pod.Shares["app"].CPUs, "1-2"; got != want || !b.ends("web") {
		t.Errorf("vital has CPUs %q, web ends %t; want %q, of those of web", got, b.ends("web"), want)
	}
	b.offer.Allocatable = nil
	b.apply(pod("late", "a:1", owns("1")))
	if got := b.refused("late"); got == "" {
		t.Error("late is taken though web has not ended yet")
	}
}

func TestARenamedPodPreemptsNone(t *testing.T) {
	b := lone(t)
	b.apply(pod("web", "a:1", asks("600m")))
	file := b.as(node.SourceFile)
	for _, p := range []*corev1.Pod{pod("old", "a:1", asks("300m")), pod("new", "a:1", asks("400m"))} {
		if problems := file.in.Sync([]Delivery{{Pod: p, Origin: "/static/a.yaml"}}, nil, b.now); len(problems) > 0 {
			t.Fatal(problems)
		}
	}
	if got := b.view("new").Pod.Awaits; b.ends("web") || len(got) != 1 || got[0].UID != b.view("old").Pod.UID() {
		t.Errorf("web ends %t, new waits for %v; want it to wait for old, which its source has no more", b.ends("web"), got)
	}
}

func TestARenamedPodWaitsForItsHostPort(t *testing.T) {
	b := lone(t)
	file := b.as(node.SourceFile)
	for _, name := range []string{"old", "new"} {
		p := pod(name, "a:1")
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 8080, Protocol: corev1.ProtocolTCP}}
		if problems := file.in.Sync([]Delivery{{Pod: p, Origin: "/static/a.yaml"}}, nil, b.now); len(problems) > 0 {
			t.Fatal(problems)
		}
	}
	if got := b.view("new").Pod.Awaits; b.refused("new") != "" || len(got) != 1 || got[0].UID != b.view("old").Pod.UID() {
		t.Errorf("new is refused %q and waits for %v, want it to wait for old", b.refused("new"), got)
	}
	file.freed("old")
	if got := b.view("new").Pod.Awaits; len(got) != 0 {
		t.Errorf("new waits for %v though old has ended", got)
	}
}
