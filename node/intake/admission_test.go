package intake

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"nodal/node"
	"nodal/node/admit"
	"nodal/node/policy"
	"nodal/node/store"
)

func asks(cpu string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	}
}

// small is a node with one processor.
func small(t *testing.T) *bench {
	b := newBench(t)
	b.offer.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourcePods: resource.MustParse("2")}
	return b
}

func (b *bench) refused(name string) string {
	b.t.Helper()
	view, ok := b.in.Store.View(node.Key{Namespace: "default", Name: name})
	if !ok || view.Slot.Result == nil {
		return ""
	}
	return string(view.Slot.Result.Phase) + " " + view.Slot.Result.Reason
}

func TestOfTwoPodsThatCompeteOneFails(t *testing.T) {
	b := small(t)
	outcomes, _, err := b.in.Apply([]Delivery{{Pod: pod("a", "a:1", asks("600m"))}, {Pod: pod("b", "a:1", asks("600m")), Document: 1}}, b.now)
	if err != nil {
		t.Fatal(err)
	}
	if got := b.refused("a"); got != "" {
		t.Errorf("a: got %q, want it to run", got)
	}
	if got, want := b.refused("b"), "Failed OutOfcpu"; got != want {
		t.Errorf("b: got %q, want %q", got, want)
	}
	if w := outcomes[1].Warnings; len(w) != 1 || !strings.HasPrefix(w[0], "the node refuses the pod, OutOfcpu: ") {
		t.Errorf("got warnings %q, want one that says it is refused", w)
	}
}

func TestARefusedPodLeavesRoomForOthers(t *testing.T) {
	b := small(t)
	b.apply(pod("big", "a:1", asks("2")))
	b.apply(pod("a", "a:1", asks("1")))
	if got := b.refused("a"); got != "" {
		t.Errorf("got %q, want it to run", got)
	}
}

func TestARefusedPodIsTriedAgainOnRequest(t *testing.T) {
	b := small(t)
	b.apply(pod("a", "a:1", asks("1")))
	b.apply(pod("web", "a:1", asks("1")))
	b.settleKey("a")
	if got, want := b.apply(pod("web", "a:1", asks("1"))), "replaced[app]"; got != want {
		t.Fatalf("got %q, want %q", got, want)
	}
	view, _ := b.in.Store.View(web)
	if next := view.Slot.Next; next == nil || next.Refused != nil {
		t.Errorf("the next pod is %v, want one that was taken", next)
	}
}

func TestRereadingAFileDoesNotRetryARefusedPod(t *testing.T) {
	b := small(t).as(node.SourceFile)
	refused := pod("web", "a:1", asks("2"), uid("u9"))
	b.apply(refused)
	if got, want := b.apply(refused), "unchanged"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestASuccessorInheritsTheRoomOfItsPredecessor(t *testing.T) {
	b := small(t)
	b.apply(pod("web", "a:1", asks("1")))
	b.apply(pod("web", "a:1", asks("1"), command("x")))
	view, _ := b.in.Store.View(web)
	if next := view.Slot.Next; next == nil || next.Refused != nil {
		t.Errorf("the next pod is %v, want one that was taken", next)
	}
}

func TestFinishedPodsDoNotFillTheDisk(t *testing.T) {
	b := small(t)
	var got string
	for i := range 30 {
		if got = b.apply(pod("p"+string(rune('a'+i)), "a:1", asks("2"))); got != "created" {
			break
		}
	}
	if views, _ := b.in.Store.Views(); len(views) != crowd*2 {
		t.Errorf("the node remembers %d pods, want %d; the last was %q", len(views), crowd*2, got)
	}
}

func TestANodeUnderPressureRefusesInThePlanToo(t *testing.T) {
	b := newBench(t)
	var present admit.Present
	b.in.Present = func() admit.Present { return present }
	b.apply(pod("web", "a:1"))
	present.Pressures = []corev1.NodeConditionType{corev1.NodeDiskPressure}
	const why = "the node refuses the pod, Evicted: Pod was rejected: The node had condition: [DiskPressure]. "
	late := []Delivery{{Pod: pod("late", "a:1")}}
	planned, err := b.in.Plan(late, b.now)
	if err != nil || len(planned[0].Warnings) != 1 || planned[0].Warnings[0] != why {
		t.Errorf("the plan says %q, %v; want %q", planned[0].Warnings, err, why)
	}
	done, _, err := b.in.Apply(late, b.now)
	if err != nil || len(done[0].Warnings) != 1 || done[0].Warnings[0] != why {
		t.Errorf("who applies is told %q, %v; want %q", done[0].Warnings, err, why)
	}
	if got, want := b.refused("late"), "Failed Evicted"; got != want {
		t.Errorf("late: got %q, want %q", got, want)
	}
	if got, want := b.apply(pod("web", "a:2")), "updated"; got != want || b.refused("web") != "" {
		t.Errorf("the pod that runs is %q, %q; want it %s", got, b.refused("web"), want)
	}
	present.Pressures = nil
	if got, want := b.apply(pod("late", "a:1")), "replaced[app]"; got != want {
		t.Errorf("applied again once that is over: got %q, want %q", got, want)
	}
	view, _ := b.in.Store.View(node.Key{Namespace: "default", Name: "late"})
	if next := view.Slot.Next; next == nil || next.Refused != nil {
		t.Errorf("the next pod is %v, want one that was taken", next)
	}
}

func (b *bench) settleKey(name string) {
	b.t.Helper()
	key := node.Key{Namespace: "default", Name: name}
	if _, err := b.in.Store.Transact(func(tx *store.Tx) error {
		slot := *tx.Get(key)
		slot.Result = &corev1.PodStatus{Phase: corev1.PodSucceeded}
		tx.Put(key, &slot)
		return nil
	}); err != nil {
		b.t.Fatal(err)
	}
}

// TestAPodThatRunsAlreadyStays: another kubelet has admitted it, or its record is lost.
func TestAPodThatRunsAlreadyStays(t *testing.T) {
	b := small(t)
	b.offer.Taints = []corev1.Taint{{Key: "closed", Effect: corev1.TaintEffectNoExecute}}
	b.in.Present = func() admit.Present {
		return admit.Present{Pressures: []corev1.NodeConditionType{corev1.NodeDiskPressure}}
	}
	b.in.Policy = policy.Policy{Posters: map[policy.Poster]policy.Level{policy.Cluster: policy.Baseline, policy.Operator: policy.Baseline}}
	b.saw("u")
	big := pod("web", "a:1", asks("2"), uid("u"), privileged)
	if got := b.posts(Delivery{Pod: big, By: policy.Operator}); !strings.Contains(got, "privileged") {
		t.Errorf("an operator gets %s for a privileged pod with the UID of one that runs", got)
	}
	if got := b.posts(Delivery{Pod: pod("web", "a:1", uid("other"), privileged), By: policy.Cluster}); !strings.Contains(got, "privileged") {
		t.Errorf("the cluster gets %s for a pod that does not run", got)
	}
	if got := b.posts(Delivery{Pod: big, By: policy.Cluster}); got != "created" || b.refused("web") != "" {
		t.Errorf("the pod that runs is %s, and then %q", got, b.refused("web"))
	}
	if b.posts(Delivery{Pod: pod("next", "a:1"), By: policy.Cluster}); b.refused("next") == "" {
		t.Error("a pod that does not run is accepted")
	}
}

func TestAPodThatRanBeforeIsAdmittedAgain(t *testing.T) {
	b := small(t)
	b.saw("u")
	b.apply(pod("web", "a:1", uid("u")))
	if _, err := b.in.Store.Transact(func(tx *store.Tx) error { tx.Put(web, nil); return nil }); err != nil {
		t.Fatal(err)
	}
	b.apply(pod("web", "a:1", asks("2"), uid("u")))
	if b.refused("web") == "" {
		t.Error("a pod that does not fit is accepted, since one of its UID ran before")
	}
}
