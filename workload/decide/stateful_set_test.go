package decide

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"nodal/node"
)

// statefulOf returns a set of two replicas, with a claim for each.
func statefulOf(image string, changes ...func(*appsv1.StatefulSetSpec)) *appsv1.StatefulSet {
	set := &appsv1.StatefulSet{ObjectMeta: metaOf("db"), Spec: appsv1.StatefulSetSpec{
		Replicas: new(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: app("db")}, Template: templateOf("db"), ServiceName: "dbs",
		UpdateStrategy:       appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType},
		VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data", Labels: map[string]string{"tier": "a"}}}},
	}}
	set.Spec.Template.Spec.Containers[0].Image = image
	for _, change := range changes {
		change(&set.Spec)
	}
	return set
}

func replicasOf(n int32) func(*appsv1.StatefulSetSpec) {
	return func(s *appsv1.StatefulSetSpec) { s.Replicas = &n }
}

func parallel(s *appsv1.StatefulSetSpec) { s.PodManagementPolicy = appsv1.ParallelPodManagement }

func dropWhenScaled(s *appsv1.StatefulSetSpec) {
	s.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenScaled: appsv1.DeletePersistentVolumeClaimRetentionPolicyType}
}

func partition(n int32) func(*appsv1.StatefulSetSpec) {
	return func(s *appsv1.StatefulSetSpec) {
		s.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: &n}
	}
}

func (s *site) stateful() *appsv1.StatefulSet {
	v, _ := s.objects[node.ObjectRef{Kind: node.StatefulSet, Namespace: "default", Name: "db"}].(*appsv1.StatefulSet)
	return v
}

// running returns the present pods with their images, and claims the names of the claims.
func (s *site) running() string {
	var all []string
	for _, p := range s.sorted() {
		all = append(all, p.Name+"="+p.Spec.Containers[0].Image)
	}
	return strings.Join(all, " ")
}

func (s *site) claims() string {
	var all []string
	for _, c := range s.look().Claims {
		all = append(all, c.Name)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func TestPodsOfAStatefulSetHaveTheirNamesAndClaims(t *testing.T) {
	s := newSite(t)
	s.post(statefulOf("v1", func(spec *appsv1.StatefulSetSpec) { spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: 5} }))
	s.settle()
	if got := s.running(); got != "db-5=v1 db-6=v1" {
		t.Fatalf("there are %s", got)
	}
	p := s.pods["db-6"]
	if p.Spec.Hostname != "db-6" || p.Spec.Subdomain != "dbs" || p.Labels["statefulset.kubernetes.io/pod-name"] != "db-6" || p.Labels["apps.kubernetes.io/pod-index"] != "6" {
		t.Errorf("a pod is %+v %+v", p.Labels, p.Spec)
	}
	if len(p.Spec.Volumes) != 1 || p.Spec.Volumes[0].Name != "data" || p.Spec.Volumes[0].PersistentVolumeClaim.ClaimName != "data-db-6" {
		t.Errorf("its volumes are %+v", p.Spec.Volumes)
	}
	claim := s.look().Claims[0]
	if s.claims() != "data-db-5 data-db-6" || !maps.Equal(claim.Labels, map[string]string{"tier": "a", "app": "db"}) {
		t.Errorf("the claims are %s, one has %v", s.claims(), claim.Labels)
	}
	status := s.stateful().Status
	if status.Replicas != 2 || status.ReadyReplicas != 2 || status.AvailableReplicas != 2 || status.UpdatedReplicas != 2 || status.CurrentReplicas != 2 ||
		status.CurrentRevision != status.UpdateRevision || status.UpdateRevision != p.Labels[appsv1.ControllerRevisionHashLabelKey] {
		t.Errorf("the status is %+v", status)
	}
}

func TestAnOrderedSetStartsOnePodAfterTheOther(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*appsv1.StatefulSetSpec)
		first  string
	}{
		{"ordered", func(*appsv1.StatefulSetSpec) {}, "db-0=v1"}, {"all at once", parallel, "db-0=v1 db-1=v1 db-2=v1"},
	} {
		s := newSite(t)
		s.post(statefulOf("v1", c.change, replicasOf(3)))
		s.round()
		if got := s.running(); got != c.first {
			t.Errorf("%s: the first are %s, want %s", c.name, got, c.first)
		}
		s.settle()
		if got := s.running(); got != "db-0=v1 db-1=v1 db-2=v1" {
			t.Errorf("%s: in the end there are %s", c.name, got)
		}
	}
}

func TestAnOrderedSetWaitsForAPodThatIsNotReady(t *testing.T) {
	s := newSite(t)
	s.post(statefulOf("v1"))
	s.settle()
	s.end(s.pods["db-0"], corev1.PodRunning)
	s.post(statefulOf("v1", replicasOf(4)))
	s.pods["db-0"].Spec.NodeName = "stuck"
	plan := Next(s.look())
	for _, c := range plan.Changes {
		if c.Do == MakePod {
			t.Errorf("%s is made", c.Pod.Name)
		}
	}
}

func TestASetShrinksFromItsLastPod(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*appsv1.StatefulSetSpec)
		claims string
	}{
		{"keeps claims", func(*appsv1.StatefulSetSpec) {}, "data-db-0 data-db-1 data-db-2"}, {"drops claims", dropWhenScaled, "data-db-0"},
	} {
		s := newSite(t)
		s.post(statefulOf("v1", c.change, replicasOf(3)))
		s.settle()
		s.post(statefulOf("v1", c.change, replicasOf(1)))
		for range 20 {
			s.round()
			if going := where(s.sorted(), func(p *corev1.Pod) bool { return p.DeletionTimestamp != nil }); len(going) > 1 ||
				len(going) == 1 && going[0].Name == "db-1" && s.pods["db-2"] != nil {
				t.Errorf("%s: there are %s, and %d go", c.name, s.running(), len(going))
			}
		}
		s.settle()
		if got := s.running(); got != "db-0=v1" || s.claims() != c.claims {
			t.Errorf("%s: there are %s and the claims %s, want %s", c.name, got, s.claims(), c.claims)
		}
		s.post(statefulOf("v1", c.change, replicasOf(2)))
		s.settle()
		if got := s.running(); got != "db-0=v1 db-1=v1" || !strings.Contains(s.claims(), "data-db-1") {
			t.Errorf("%s: after that there are %s and %s", c.name, got, s.claims())
		}
	}
}

func TestASetWantsMorePodsThanThereCanBe(t *testing.T) {
	s := newSite(t)
	s.post(statefulOf("v1", parallel, replicasOf(math.MaxInt32)))
	made := func(plan Plan) (pods, claims int) {
		for _, c := range plan.Changes {
			pods += int(count(c.Do == MakePod))
			_, claim := c.Value.(*corev1.PersistentVolumeClaim)
			claims += int(count(c.Do == MakeObject && claim))
		}
		return pods, claims
	}
	s.trouble[s.stateful().UID] = "the node is cordoned"
	if pods, claims := made(Next(s.look())); pods != 1 || claims != 1 {
		t.Errorf("while pods cannot be made, a plan makes %d with %d claims", pods, claims)
	}
	clear(s.trouble)
	s.refuses = "OutOfcpu"
	for i, want := range []int{burst, 0, 0} {
		if pods, claims := made(s.round()); pods != want || claims != want {
			t.Errorf("plan %d makes %d pods and %d claims, want %d", i, pods, claims, want)
		}
	}
	s.refuses = ""
	s.now = s.now.Add(failedWait)
	for range 4 {
		s.round()
	}
	s.post(statefulOf("v2", parallel, replicasOf(math.MaxInt32)))
	s.round()
	if len(s.pods) <= burst {
		t.Errorf("there are %d pods once the node takes them", len(s.pods))
	}
}

func TestASetWaitsForAClaimThatGoes(t *testing.T) {
	s := newSite(t)
	s.post(statefulOf("v1", replicasOf(1)))
	s.settle()
	s.take(Change{Do: DeleteObject, Value: s.look().Claims[0]})
	old := s.look().Claims[0].UID
	s.take(Change{Do: DeletePod, Pod: s.pods["db-0"]})
	s.settle()
	if now := s.look().Claims[0]; now.UID == old || now.DeletionTimestamp != nil || s.running() != "db-0=v1" {
		t.Errorf("the claim is %+v, and there are %s", now, s.running())
	}
}

func TestASetIsUpdatedFromItsLastPod(t *testing.T) {
	s := newSite(t)
	s.post(statefulOf("v1", replicasOf(3)))
	s.settle()
	first := s.stateful().Status.CurrentRevision
	s.post(statefulOf("v2", replicasOf(3), partition(2)))
	for range 30 {
		s.round()
		if away := 3 - len(where(s.sorted(), ready)); away > 1 {
			t.Errorf("%d are away: %s", away, s.running())
		}
	}
	if got := s.running(); got != "db-0=v1 db-1=v1 db-2=v2" {
		t.Errorf("above the partition there are %s", got)
	}
	status := s.stateful().Status
	if status.CurrentRevision != first || status.UpdateRevision == first || status.UpdatedReplicas != 1 || status.CurrentReplicas != 2 {
		t.Errorf("the status is %+v", status)
	}
	s.take(Change{Do: DeletePod, Pod: s.pods["db-0"]})
	s.settle()
	if got := s.running(); got != "db-0=v1 db-1=v1 db-2=v2" {
		t.Errorf("a pod below the partition comes back as %s", got)
	}
	s.post(statefulOf("v2", replicasOf(3)))
	s.settle()
	status = s.stateful().Status
	if got := s.running(); got != "db-0=v2 db-1=v2 db-2=v2" || status.CurrentRevision != status.UpdateRevision || status.CurrentReplicas != 3 {
		t.Errorf("in the end there are %s with %+v", got, status)
	}
}

func TestASetIsUpdatedByDeletion(t *testing.T) {
	s := newSite(t)
	onDelete := func(spec *appsv1.StatefulSetSpec) {
		spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType
	}
	s.post(statefulOf("v1", onDelete))
	s.settle()
	s.post(statefulOf("v2", onDelete))
	s.settle()
	s.take(Change{Do: DeletePod, Pod: s.pods["db-0"]})
	s.settle()
	if got := s.running(); got != "db-0=v2 db-1=v1" {
		t.Errorf("there are %s", got)
	}
}

func TestManyPodsOfASetAreUpdatedAtOnce(t *testing.T) {
	s := newSite(t)
	two := func(spec *appsv1.StatefulSetSpec) {
		spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{MaxUnavailable: new(intstr.FromInt32(2))}
	}
	s.post(statefulOf("v1", replicasOf(4), two, parallel))
	s.settle()
	s.post(statefulOf("v2", replicasOf(4), two, parallel))
	most := 0
	for range 40 {
		s.round()
		most = max(most, 4-len(where(s.sorted(), ready)))
	}
	if got := s.running(); most != 2 || got != "db-0=v2 db-1=v2 db-2=v2 db-3=v2" {
		t.Errorf("%d were away; in the end there are %s", most, got)
	}
}

func TestASetLeavesAPodOfItsNameAlone(t *testing.T) {
	s := newSite(t)
	other := &corev1.Pod{ObjectMeta: metaOf("db-1"), Spec: templateOf("x").Spec}
	s.take(Change{Do: MakePod, Pod: other})
	s.post(statefulOf("v1"))
	s.settle()
	if got := len(s.pods["db-1"].OwnerReferences); got != 0 || len(s.pods) != 2 {
		t.Errorf("it has %d owners among %s", got, s.running())
	}
}

func TestAStatefulSetComesToItsEndInChaos(t *testing.T) {
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 1))
		s := newSite(t)
		how := []func(*appsv1.StatefulSetSpec){dropWhenScaled}
		if seed%2 == 0 {
			how = append(how, parallel)
		}
		s.post(statefulOf("v1", how...))
		for _, n := range []int32{4, 1, 3} {
			s.chaos(random, func() {})
			s.post(statefulOf("v2", append(how, replicasOf(n))...))
		}
		for range 5 {
			s.settle()
			s.now = s.now.Add(failedWait)
		}
		s.settle()
		if got := s.running(); got != "db-0=v2 db-1=v2 db-2=v2" {
			t.Fatalf("seed %d: in the end there are %s", seed, got)
		}
		if got := s.claims(); !strings.HasPrefix(got, "data-db-0 data-db-1 data-db-2") {
			t.Fatalf("seed %d: the claims are %s", seed, got)
		}
		if status := s.stateful().Status; status.ReadyReplicas != 3 || status.CurrentRevision != status.UpdateRevision {
			t.Fatalf("seed %d: the status is %+v", seed, status)
		}
	}
}

// A set that shrinks may be wanted larger again at any moment, and the agent may end between any two calls. A pod that runs
// then has the data that it had.
func TestAPodThatIsWantedAgainKeepsItsClaim(t *testing.T) {
	for calls := range 6 {
		s := newSite(t)
		s.post(statefulOf("v1", dropWhenScaled, replicasOf(2)))
		s.settle()
		was := map[string]types.UID{}
		for _, c := range s.look().Claims {
			was[c.Name] = c.UID
		}
		s.post(statefulOf("v1", dropWhenScaled, replicasOf(1)))
		for range calls {
			if changes := Next(s.look()).Changes; len(changes) > 0 && s.pods["db-1"] != nil {
				s.take(changes[0])
			}
		}
		s.post(statefulOf("v1", dropWhenScaled, replicasOf(2)))
		s.settle()
		for _, c := range s.look().Claims {
			if c.DeletionTimestamp != nil || c.Annotations[node.AnnotationGoesAfter] != "" || s.pods["db-1"] == nil || was[c.Name] != c.UID {
				t.Errorf("after %d calls there is %s %s, deleted %v, %v", calls, c.Name, c.UID, c.DeletionTimestamp, c.Annotations)
			}
		}
	}
}
