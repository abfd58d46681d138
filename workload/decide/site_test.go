package decide

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// site is a node as decisions see it: it takes changes by the rules of the node API, and its pods live.
type site struct {
	t        *testing.T
	now      time.Time
	revision int
	objects  map[node.ObjectRef]node.Value
	pods     map[string]*corev1.Pod
	trouble  map[types.UID]string
	node     *corev1.Node
	uids     int
	refuses  string // the reason for which it takes no pods to run; none if it takes them
}

func newSite(t *testing.T) *site {
	return &site{
		t: t, now: time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC), objects: map[node.ObjectRef]node.Value{},
		pods: map[string]*corev1.Pod{}, trouble: map[types.UID]string{},
		node: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "here", Labels: map[string]string{"disk": "fast"}}},
	}
}

func (s *site) stamp(o metav1.Object) {
	s.revision++
	o.SetResourceVersion(strconv.Itoa(s.revision))
}

func (s *site) birth(o metav1.Object) {
	s.uids++
	o.SetUID(types.UID(fmt.Sprintf("u%d", s.uids)))
	o.SetCreationTimestamp(metav1.NewTime(s.now))
	s.stamp(o)
}

// post makes an object or changes its spec, as the node does.
func (s *site) post(v node.Value) node.Value {
	ref := node.NewObject(v).Ref()
	if old, there := s.objects[ref]; there {
		v.SetUID(old.GetUID())
		v.SetGeneration(old.GetGeneration() + 1)
		if o := node.NewObject(v); o.Status() != nil {
			o.TakeStatus(node.NewObject(old))
		}
		s.stamp(v)
	} else {
		s.birth(v)
		v.SetGeneration(1)
	}
	s.objects[ref] = v
	return v
}

func (s *site) look() World {
	w := World{Now: s.now, Taken: map[types.NamespacedName]bool{}, Trouble: s.trouble, Node: s.node, Zone: time.LoadLocation}
	for _, name := range slices.Sorted(maps.Keys(s.pods)) {
		w.Pods = append(w.Pods, s.pods[name].DeepCopy())
		w.Everyone = append(w.Everyone, w.Pods[len(w.Pods)-1])
		w.Taken[types.NamespacedName{Namespace: "default", Name: name}] = true
	}
	refs := slices.SortedFunc(maps.Keys(s.objects), func(a, b node.ObjectRef) int {
		if a.String() < b.String() {
			return -1
		}
		return 1
	})
	for _, ref := range refs {
		switch v := s.objects[ref].DeepCopyObject().(type) {
		case *appsv1.ReplicaSet:
			w.ReplicaSets = append(w.ReplicaSets, v)
		case *appsv1.Deployment:
			w.Deployments = append(w.Deployments, v)
		case *batchv1.Job:
			w.Jobs = append(w.Jobs, v)
		case *appsv1.StatefulSet:
			w.StatefulSets = append(w.StatefulSets, v)
		case *batchv1.CronJob:
			w.CronJobs = append(w.CronJobs, v)
		case *corev1.PersistentVolumeClaim:
			w.Claims = append(w.Claims, v)
		case *appsv1.DaemonSet:
			w.DaemonSets = append(w.DaemonSets, v)
		case *appsv1.ControllerRevision:
			w.Revisions = append(w.Revisions, v)
		case *corev1.Service:
			w.Services = append(w.Services, v)
		case *discoveryv1.EndpointSlice:
			w.Slices = append(w.Slices, v)
		}
	}
	return w
}

// take carries one change out. It reports whether the node took it.
func (s *site) take(c Change) bool {
	switch c.Do {
	case MakePod:
		if s.pods[c.Pod.Name] != nil {
			return false
		}
		pod := c.Pod.DeepCopy()
		s.birth(pod)
		pod.Status.Phase = corev1.PodPending
		if s.refuses != "" { // such a status holds nothing else
			pod.Status.Phase, pod.Status.Reason = corev1.PodFailed, s.refuses
		}
		s.pods[pod.Name] = pod
	case ChangePod:
		if old := s.pods[c.Pod.Name]; old == nil || old.ResourceVersion != c.Pod.ResourceVersion {
			return false
		}
		s.stamp(c.Pod)
		s.pods[c.Pod.Name] = c.Pod
	case DeletePod:
		old := s.pods[c.Pod.Name]
		if old == nil || old.UID != c.Pod.UID {
			return false
		}
		if ended(old) {
			delete(s.pods, old.Name)
			s.freeClaims()
		} else if old.DeletionTimestamp == nil {
			at := metav1.NewTime(s.now)
			old.DeletionTimestamp = &at
			s.stamp(old)
		}
	default:
		return s.takeObject(c)
	}
	return true
}

func (s *site) takeObject(c Change) bool {
	ref := node.NewObject(c.Value).Ref()
	old, there := s.objects[ref]
	if there == (c.Do == MakeObject) {
		return false
	}
	if there && c.Do != DeleteObject && old.GetResourceVersion() != c.Value.GetResourceVersion() {
		return false
	}
	value := c.Value.DeepCopyObject().(node.Value)
	switch c.Do {
	case DeleteObject:
		delete(s.objects, ref)
		if claim, ok := old.(*corev1.PersistentVolumeClaim); ok && s.uses(claim.Name) {
			at := metav1.NewTime(s.now)
			claim.DeletionTimestamp = &at
			s.stamp(claim)
			s.objects[ref] = claim
		}
	case PutStatus:
		notes := maps.Clone(value.GetAnnotations())
		if notes == nil {
			notes = map[string]string{}
		}
		maps.Copy(notes, c.Notes)
		value.SetAnnotations(notes)
		s.stamp(value)
		s.objects[ref] = value
	default:
		s.post(value)
	}
	return true
}

// live has pods go on: a starting one becomes ready, one that is deleted shows for a moment that it was killed, and goes.
func (s *site) live(p *corev1.Pod) {
	switch {
	case p.DeletionTimestamp != nil && ended(p):
		delete(s.pods, p.Name)
		s.freeClaims()
		s.revision++
		return
	case p.DeletionTimestamp != nil:
		s.end(p, corev1.PodFailed)
		return
	case p.Status.Phase == corev1.PodPending:
		s.uids++
		p.Status.Phase, p.Status.PodIPs = corev1.PodRunning, []corev1.PodIP{{IP: fmt.Sprintf("10.89.%d.%d", s.uids/256, s.uids%256)}}
	case p.Status.Phase == corev1.PodRunning && !ready(p):
		p.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(s.now),
		}}
	default:
		return
	}
	s.stamp(p)
}

// uses reports whether a pod uses a claim.
func (s *site) uses(claim string) bool {
	return slices.ContainsFunc(s.sorted(), func(p *corev1.Pod) bool {
		return slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool {
			return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim
		})
	})
}

// freeClaims forgets the claims that go and that no pod uses any more.
func (s *site) freeClaims() {
	for ref, v := range s.objects {
		if ref.Kind == node.PersistentVolumeClaim && v.GetDeletionTimestamp() != nil && !s.uses(ref.Name) {
			delete(s.objects, ref)
		}
	}
}

// end has a pod end by itself.
func (s *site) end(p *corev1.Pod, phase corev1.PodPhase) {
	p.Status.Phase = phase
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(s.now)}}
	s.stamp(p)
}

func (s *site) sorted() (all []*corev1.Pod) {
	for _, name := range slices.Sorted(maps.Keys(s.pods)) {
		all = append(all, s.pods[name])
	}
	return all
}

// round makes one plan, carries it out and has all pods go on.
func (s *site) round() Plan {
	plan := Next(s.look())
	for _, c := range plan.Changes {
		s.take(c)
	}
	for _, p := range s.sorted() {
		s.live(p)
	}
	s.now = s.now.Add(time.Second)
	return plan
}

// settle makes rounds until nothing is left to do but what time brings.
func (s *site) settle() {
	s.t.Helper()
	for range 200 {
		before := s.revision
		plan := s.round()
		if len(plan.Changes) == 0 && s.revision == before {
			return
		}
	}
	s.t.Fatal("the plans do not come to an end")
}

func (s *site) activePods() []*corev1.Pod { return where(s.sorted(), active) }

func app(name string) map[string]string { return map[string]string{"app": name} }

func templateOf(name string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: app(name)},
		Spec:       corev1.PodSpec{RestartPolicy: corev1.RestartPolicyAlways, Containers: []corev1.Container{{Name: "main", Image: "v1"}}},
	}
}

func metaOf(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "default", Name: name}
}

func setOf(name string, replicas int32) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{ObjectMeta: metaOf(name), Spec: appsv1.ReplicaSetSpec{
		Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: app(name)}, Template: templateOf(name),
	}}
}

// chaos makes rounds in which the agent is killed between two changes, in which pods change between the look and the changes,
// and in which the same plan is carried out twice.
func (s *site) chaos(random *rand.Rand, holds func()) {
	for range 60 {
		plan := Next(s.look())
		s.happen(random)
		cut := len(plan.Changes)
		if random.IntN(2) == 0 {
			cut = random.IntN(cut + 1)
		}
		for range 1 + random.IntN(2) {
			for _, c := range plan.Changes[:cut] {
				s.take(c)
				holds()
			}
		}
		s.happen(random)
		s.now = s.now.Add(time.Duration(random.IntN(5)) * time.Second)
	}
}

// happen has pods go on, fail, or be deleted by a client.
func (s *site) happen(random *rand.Rand) {
	for _, p := range s.sorted() {
		switch random.IntN(24) {
		case 0, 1, 2, 3, 4, 5:
			s.live(p)
		case 6:
			if active(p) {
				s.end(p, corev1.PodFailed)
			}
		case 7:
			s.take(Change{Do: DeletePod, Pod: p})
		}
	}
}

func same(a, b any) bool { return apiequality.Semantic.DeepEqual(a, b) }
