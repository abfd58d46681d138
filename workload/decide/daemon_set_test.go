package decide

import (
	"math/rand/v2"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"nodal/node"
)

func daemonOf(name, image string, surge int32) *appsv1.DaemonSet {
	template := templateOf(name)
	template.Spec.Containers[0].Image = image
	return &appsv1.DaemonSet{ObjectMeta: metaOf(name), Spec: appsv1.DaemonSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: app(name)}, Template: template,
		UpdateStrategy: appsv1.DaemonSetUpdateStrategy{
			Type: appsv1.RollingUpdateDaemonSetStrategyType,
			RollingUpdate: &appsv1.RollingUpdateDaemonSet{
				MaxSurge: new(intstr.FromInt32(surge)), MaxUnavailable: new(intstr.FromInt32(1 - surge)),
			},
		},
	}}
}

func (s *site) daemon(name string) *appsv1.DaemonSet {
	v, _ := s.objects[node.ObjectRef{Kind: node.DaemonSet, Namespace: "default", Name: name}].(*appsv1.DaemonSet)
	return v
}

// revisions returns the images of the kept templates by their numbers.
func (s *site) revisions() map[int64]string {
	all := map[int64]string{}
	for _, r := range s.look().Revisions {
		all[r.Revision] = templateIn(r).Spec.Containers[0].Image
	}
	return all
}

func (s *site) activeImages() (all []string) {
	for _, p := range s.activePods() {
		all = append(all, p.Spec.Containers[0].Image)
	}
	return all
}

func TestADaemonRunsOnceOnANodeThatItWants(t *testing.T) {
	taint := func(effect corev1.TaintEffect) []corev1.Taint { return []corev1.Taint{{Key: "spare", Effect: effect}} }
	for _, c := range []struct {
		name       string
		change     func(*corev1.PodSpec)
		taints     []corev1.Taint
		runs, stay bool
	}{
		{"wants any node", func(*corev1.PodSpec) {}, nil, true, true},
		{"selects the node", func(p *corev1.PodSpec) { p.NodeSelector = map[string]string{"disk": "fast"} }, nil, true, true},
		{"selects others", func(p *corev1.PodSpec) { p.NodeSelector = map[string]string{"disk": "slow"} }, nil, false, false},
		{"names the node", func(p *corev1.PodSpec) { p.NodeName = "here" }, nil, true, true},
		{"names another", func(p *corev1.PodSpec) { p.NodeName = "there" }, nil, false, false},
		{"is kept away", func(*corev1.PodSpec) {}, taint(corev1.TaintEffectNoSchedule), false, true},
		{"is driven away", func(*corev1.PodSpec) {}, taint(corev1.TaintEffectNoExecute), false, false},
		{"is not preferred", func(*corev1.PodSpec) {}, taint(corev1.TaintEffectPreferNoSchedule), true, true},
		{"tolerates all", func(p *corev1.PodSpec) { p.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}} },
			taint(corev1.TaintEffectNoExecute), true, true},
		{"is kept away by a cordon", func(*corev1.PodSpec) {}, []corev1.Taint{{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}}, true, true},
	} {
		s := newSite(t)
		s.post(daemonOf("log", "v1", 0))
		s.settle()
		if got := len(s.activePods()); got != 1 {
			t.Fatalf("%s: at first there are %d pods", c.name, got)
		}
		s.node.Spec.Taints = c.taints
		next := daemonOf("log", "v1", 0)
		next.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType}
		c.change(&next.Spec.Template.Spec)
		s.post(next)
		s.settle()
		if got := len(s.activePods()) == 1; got != c.stay {
			t.Errorf("%s: the pod stays: %t, want %t", c.name, got, c.stay)
		}
		for _, p := range s.activePods() {
			s.take(Change{Do: DeletePod, Pod: p})
		}
		s.settle()
		if got := len(s.activePods()) == 1; got != c.runs {
			t.Errorf("%s: a new pod runs: %t, want %t", c.name, got, c.runs)
		}
		status := s.daemon("log").Status
		if want := count(c.runs); status.DesiredNumberScheduled != want || status.NumberAvailable != want || status.UpdatedNumberScheduled != want || status.NumberUnavailable != 0 {
			t.Errorf("%s: the status is %+v", c.name, status)
		}
	}
}

func TestADaemonIsReplacedAsItsStrategySays(t *testing.T) {
	for _, c := range []struct {
		name  string
		surge int32
		most  int // pods side by side
		least int // ready ones
	}{
		{"the old one ends first", 0, 1, 0}, {"the new one is ready first", 1, 2, 1},
	} {
		s := newSite(t)
		s.post(daemonOf("log", "v1", c.surge))
		s.settle()
		s.post(daemonOf("log", "v2", c.surge))
		for range 20 {
			s.round()
			if n := len(where(s.sorted(), func(p *corev1.Pod) bool { return !ended(p) })); n > c.most {
				t.Errorf("%s: there are %d pods", c.name, n)
			}
			if n := len(where(s.sorted(), ready)); n < c.least {
				t.Errorf("%s: %d are ready", c.name, n)
			}
		}
		s.settle()
		if got := s.activeImages(); len(got) != 1 || got[0] != "v2" {
			t.Errorf("%s: in the end there are %v", c.name, got)
		}
	}
}

func TestADaemonThatSurgesNeedsItsOldPodUntilTheNewOneIsAvailable(t *testing.T) {
	const minReady = 5
	version := func(image string) *appsv1.DaemonSet {
		d := daemonOf("log", image, 1)
		d.Spec.MinReadySeconds = minReady
		return d
	}
	s := newSite(t)
	s.post(version("v1"))
	for len(where(s.sorted(), ready)) == 0 {
		s.round()
	}
	s.post(version("v2")) // while the first one is ready, and not yet available
	for at := range 20 {
		s.round()
		if n := len(where(s.sorted(), ready)); n == 0 {
			t.Errorf("round %d: no pod is ready", at)
		}
	}
	s.settle()
	if got := s.activeImages(); len(got) != 1 || got[0] != "v2" {
		t.Fatalf("in the end there are %v", got)
	}
	s.sorted()[0].Status.Conditions[0].Status = corev1.ConditionFalse
	s.post(version("v3"))
	for _, c := range Next(s.look()).Changes {
		if c.Do == DeletePod {
			t.Error("a pod that is not ready goes before there is another one")
		}
		s.take(c)
	}
	gone := where(Next(s.look()).Changes, func(c Change) bool { return c.Do == DeletePod })
	if len(gone) != 1 || gone[0].Pod.Spec.Containers[0].Image != "v2" {
		t.Errorf("beside the new pod the plan deletes %v, want the one that is not ready", gone)
	}
}

func TestTheTemplatesOfADaemonAreKept(t *testing.T) {
	s := newSite(t)
	first := daemonOf("log", "v1", 0)
	first.Spec.RevisionHistoryLimit = new(int32(1))
	first.Annotations = map[string]string{"kubernetes.io/change-cause": "new", corev1.LastAppliedConfigAnnotation: "{}"}
	s.post(first)
	s.settle()
	old := s.look().Revisions[0]
	if old.Annotations["kubernetes.io/change-cause"] != "new" || len(old.Annotations) != 1 || !ownedBy(old, first.UID) || old.Labels["app"] != "log" {
		t.Errorf("the first one is %+v", old.ObjectMeta)
	}
	for _, image := range []string{"v2", "v3"} {
		next := daemonOf("log", image, 0)
		next.Spec.RevisionHistoryLimit = new(int32(1))
		s.post(next)
		s.settle()
	}
	if got := s.revisions(); len(got) != 2 || got[2] != "v2" || got[3] != "v3" {
		t.Errorf("there are %v", got)
	}
	back := daemonOf("log", "v2", 0)
	back.Spec.RevisionHistoryLimit = new(int32(1))
	s.post(back)
	s.settle()
	if got := s.revisions(); len(got) != 2 || got[4] != "v2" || got[3] != "v3" {
		t.Errorf("after going back there are %v", got)
	}
}

func TestARevisionIsAPatchToItsTemplate(t *testing.T) {
	s := newSite(t)
	s.post(daemonOf("log", "v1", 0))
	s.settle()
	now := `{"spec":{"template":{"metadata":{"labels":{"app":"log","more":"x"}},"spec":{"containers":[{"name":"other","image":"v9"}]}}}}`
	text, err := strategicpatch.StrategicMergePatch([]byte(now), s.look().Revisions[0].Data.Raw, appsv1.DaemonSet{})
	if got := string(text); err != nil || !strings.Contains(got, `"image":"v1"`) || strings.Contains(got, "v9") || strings.Contains(got, "more") {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestAnotherDaemonTakesWhatAnOrphanedOneLeaves(t *testing.T) {
	s := newSite(t)
	s.post(daemonOf("log", "v1", 0))
	s.settle()
	first := s.sorted()[0].Name
	delete(s.objects, node.NewObject(s.daemon("log")).Ref())
	for _, r := range s.look().Revisions {
		r.OwnerReferences = nil
		s.post(r)
	}
	s.pods[first].OwnerReferences = nil
	again := daemonOf("log", "v1", 0)
	s.post(again)
	s.settle()
	revisions := s.look().Revisions
	if len(revisions) != 1 || !ownedBy(revisions[0], again.UID) || len(s.pods) != 1 || !ownedBy(s.pods[first], again.UID) {
		t.Errorf("there are %d revisions and %d pods", len(revisions), len(s.pods))
	}
}

func TestAFailedDaemonIsTriedAgainAfterAPause(t *testing.T) {
	s := newSite(t)
	s.post(daemonOf("log", "v1", 0))
	s.settle()
	s.end(s.sorted()[0], corev1.PodFailed)
	failed := s.now
	if plan := Next(s.look()); len(where(plan.Changes, func(c Change) bool { return c.Do == MakePod })) > 0 || !plan.Again.Equal(failed.Add(failedWait)) {
		t.Errorf("at once: %v, again at %s", plan.Changes, plan.Again)
	}
	s.now = failed.Add(failedWait)
	s.settle()
	if got := s.activePods(); len(got) != 1 || len(s.pods) != 1 {
		t.Errorf("there are %d of %d", len(got), len(s.pods))
	}
}

func TestADaemonIsNeverThereTwice(t *testing.T) {
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 0))
		s := newSite(t)
		surge := int32(seed % 2)
		s.post(daemonOf("log", "v1", surge))
		for _, image := range []string{"v2", "v3"} {
			s.chaos(random, func() {
				s.t.Helper()
				if n := len(where(s.sorted(), func(p *corev1.Pod) bool { return !ended(p) && p.DeletionTimestamp == nil })); n > 1+int(surge) {
					t.Fatalf("seed %d: there are %d pods", seed, n)
				}
			})
			s.post(daemonOf("log", image, surge))
		}
		s.settle()
		s.now = s.now.Add(failedWait)
		s.settle()
		if got := s.activeImages(); len(got) != 1 || got[0] != "v3" || len(s.look().Revisions) != 3 {
			t.Fatalf("seed %d: in the end there are %v of %d revisions", seed, got, len(s.look().Revisions))
		}
	}
}
