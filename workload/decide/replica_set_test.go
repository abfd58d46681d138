package decide

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
)

func (s *site) set(name string) *appsv1.ReplicaSet {
	v, _ := s.objects[node.ObjectRef{Kind: node.ReplicaSet, Namespace: "default", Name: name}].(*appsv1.ReplicaSet)
	return v
}

func TestASetRunsAsManyPodsAsItWants(t *testing.T) {
	s := newSite(t)
	s.post(setOf("web", 3))
	s.settle()
	for _, p := range s.activePods() {
		if !strings.HasPrefix(p.Name, "web-") || len(p.Name) != len("web-")+suffix || !ownedBy(p, s.set("web").UID) {
			t.Errorf("a pod %s of %v", p.Name, p.OwnerReferences)
		}
	}
	got, want := s.set("web").Status, appsv1.ReplicaSetStatus{
		Replicas: 3, FullyLabeledReplicas: 3, ReadyReplicas: 3, AvailableReplicas: 3, TerminatingReplicas: new(int32), ObservedGeneration: 1,
	}
	if !same(got, want) {
		t.Errorf("the status is %+v, want %+v", got, want)
	}
	next := setOf("web", 1)
	s.post(next)
	s.settle()
	if got := len(s.activePods()); got != 1 || s.set("web").Status.ObservedGeneration != 2 {
		t.Errorf("%d pods at generation %d", got, s.set("web").Status.ObservedGeneration)
	}
}

func TestAPodOfASetIsReplacedWhileItEnds(t *testing.T) {
	s := newSite(t)
	s.post(setOf("web", 2))
	s.settle()
	first := s.sorted()[0]
	at := metav1.NewTime(s.now)
	first.DeletionTimestamp = &at
	plan := Next(s.look())
	if plan.Changes[0].Do != MakePod || plan.Changes[0].Pod.Name == first.Name {
		t.Errorf("the plan is %v", plan.Changes)
	}
	s.settle()
	if len(s.activePods()) != 2 {
		t.Errorf("%d pods", len(s.activePods()))
	}
}

func TestAFailedPodIsReplacedAfterAPause(t *testing.T) {
	s := newSite(t)
	s.post(setOf("web", 1))
	s.settle()
	s.end(s.sorted()[0], corev1.PodFailed)
	failedAt := s.now
	plan := Next(s.look())
	for _, c := range plan.Changes {
		if c.Do == MakePod || c.Do == DeletePod {
			t.Errorf("at once: %s", c.Do)
		}
	}
	if want := failedAt.Add(failedWait); !plan.Again.Equal(want) {
		t.Errorf("again at %s, want %s", plan.Again, want)
	}
	s.now = plan.Again
	s.settle()
	if pods := s.sorted(); len(pods) != 1 || !ready(pods[0]) {
		t.Errorf("there are %d pods", len(pods))
	}
}

func TestASetThatIsLargerThanTheNodeTriesOnePodAtATime(t *testing.T) {
	const fit = 60
	s := newSite(t)
	s.post(setOf("web", 200))
	made, full := 0, 0 // full: the makings once the node is full
	for at := range 60 * 4 {
		plan := Next(s.look())
		for _, c := range plan.Changes {
			if c.Do == MakePod {
				made++
				full += int(count(at >= 40)) // after ten seconds
			}
			s.take(c)
			if p := s.pods[nameIn(c)]; c.Do == MakePod && len(s.activePods()) > fit {
				s.end(p, corev1.PodFailed)
			}
		}
		for _, p := range s.sorted() {
			s.live(p)
		}
		s.now = s.now.Add(time.Second / 4)
	}
	if n := len(s.activePods()); n != fit {
		t.Errorf("%d pods run, want %d", n, fit)
	}
	if most := 2 * burst; made-full > most || full == 0 || full > 15 {
		t.Errorf("%d pods were made at first, want %d at most; and %d later, in 50 seconds", made-full, most, full)
	}
	for _, p := range s.activePods()[:5] {
		delete(s.pods, p.Name)
	}
	s.now = s.now.Add(failedWait)
	s.settle()
	if n := len(s.activePods()); n < fit {
		t.Errorf("then %d pods run, want %d", n, fit)
	}
}

func nameIn(c Change) string {
	if c.Pod == nil {
		return ""
	}
	return c.Pod.Name
}

func TestASetTakesPodsThatBelongToNothingAndLetsOthersGo(t *testing.T) {
	s := newSite(t)
	stray := &corev1.Pod{ObjectMeta: metaOf("stray"), Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	stray.Labels = app("web")
	s.birth(stray)
	s.pods["stray"] = stray
	s.post(setOf("web", 2))
	s.settle()
	if !ownedBy(s.pods["stray"], s.set("web").UID) || len(s.activePods()) != 2 {
		t.Fatalf("the stray pod belongs to %v, of %d", s.pods["stray"].OwnerReferences, len(s.activePods()))
	}
	s.pods["stray"].Labels = app("other")
	s.settle()
	if metav1.GetControllerOf(s.pods["stray"]) != nil || len(s.activePods()) != 3 {
		t.Errorf("the relabelled pod belongs to %v, of %d", s.pods["stray"].OwnerReferences, len(s.activePods()))
	}
}

func TestPodsThatServeLeastGoFirst(t *testing.T) {
	at := metav1.NewTime(time.Unix(1000, 0))
	pod := func(name string, phase corev1.PodPhase, isReady bool, cost string) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metaOf(name), Status: corev1.PodStatus{Phase: phase}}
		p.CreationTimestamp = at
		if cost != "" {
			p.Annotations = map[string]string{corev1.PodDeletionCost: cost}
		}
		if isReady {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: at}}
		}
		return p
	}
	young := pod("young", corev1.PodRunning, true, "")
	young.CreationTimestamp = metav1.NewTime(at.Add(time.Minute))
	got := ""
	for _, p := range leastWanted([]*corev1.Pod{
		pod("dear", corev1.PodRunning, true, "5"), pod("old", corev1.PodRunning, true, ""), young,
		pod("cheap", corev1.PodRunning, true, "-5"), pod("unready", corev1.PodRunning, false, "9"), pod("pending", corev1.PodPending, false, "9"),
	}) {
		got += p.Name + " "
	}
	if want := "pending unready cheap young old dear "; got != want {
		t.Errorf("the order is %s, want %s", got, want)
	}
}

func TestWhyPodsCannotBeMadeIsSaidUntilTheyAre(t *testing.T) {
	s := newSite(t)
	set := s.post(setOf("web", 1))
	s.trouble[set.GetUID()] = "the node is cordoned"
	for _, c := range Next(s.look()).Changes {
		if c.Do != MakePod {
			s.take(c)
		}
	}
	if c := s.set("web").Status.Conditions; len(c) != 1 || c[0].Reason != "FailedCreate" || c[0].Message != "the node is cordoned" {
		t.Fatalf("the conditions are %v", c)
	}
	clear(s.trouble)
	s.settle()
	if c := s.set("web").Status.Conditions; len(c) != 0 {
		t.Errorf("afterwards they are %v", c)
	}
}

func TestNoCrashOrOldLookDoublesAPodOfASet(t *testing.T) {
	for seed := range uint64(50) {
		s := newSite(t)
		s.post(setOf("web", 3))
		s.chaos(rand.New(rand.NewPCG(seed, 1)), func() {
			if n := len(s.activePods()); n > 3 {
				t.Fatalf("seed %d: %d pods", seed, n)
			}
		})
		s.now = s.now.Add(time.Minute)
		s.settle()
		if n := len(s.activePods()); n != 3 || s.set("web").Status.ReadyReplicas != 3 {
			t.Fatalf("seed %d ends with %d pods: %+v", seed, n, s.set("web").Status)
		}
	}
}
