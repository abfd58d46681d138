package decide

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
)

// stateful is a StatefulSet with its pods, each of which has a number.
type stateful struct {
	*circle
	of      *appsv1.StatefulSet
	history *history
	next    *appsv1.ControllerRevision // of the present template
	current *appsv1.ControllerRevision // of the pods that are not updated yet
	pods    map[int]*corev1.Pod        // by number
}

// statefulSet has a set run its pods under their names, one after another or all at once.
func (c *circle) statefulSet(of *appsv1.StatefulSet) {
	if c.goes(of) {
		return
	}
	s := &stateful{circle: c, of: of, history: c.historyOf(of, of.Spec.Selector, markOfSets), pods: map[int]*corev1.Pod{}}
	for _, p := range c.podsLike(of, node.StatefulSet, of.Spec.Selector, func(p *corev1.Pod) bool { return node.NumberIn(of.Name, p.Name) >= 0 }) {
		s.pods[node.NumberIn(of.Name, p.Name)] = p
	}
	if s.next = s.history.present; s.next == nil {
		return
	}
	s.current = s.next
	for _, r := range s.history.all {
		if r.Name == of.Status.CurrentRevision {
			s.current = r
		}
	}
	s.settleClaims()
	s.fit()
	s.history.forget(of.Spec.RevisionHistoryLimit, s.lives)
	s.putStatus()
}

// markOfSets is the label by which Kubernetes finds the revisions of a StatefulSet.
const markOfSets = "controller.kubernetes.io/hash"

func (s *stateful) lives(r *appsv1.ControllerRevision) bool {
	if r.Name == s.current.Name || r.Name == s.of.Status.UpdateRevision {
		return true
	}
	for _, p := range s.pods {
		if markOf(p) == r.Name {
			return true
		}
	}
	return false
}

// start and end bound the numbers of the wanted pods.
func (s *stateful) start() int {
	if o := s.of.Spec.Ordinals; o != nil {
		return int(o.Start)
	}
	return 0
}

func (s *stateful) end() int { return s.start() + int(number(s.of.Spec.Replicas, 1)) }

func (s *stateful) wanted(n int) bool { return n >= s.start() && n < s.end() }

func (s *stateful) parallel() bool {
	return s.of.Spec.PodManagementPolicy == appsv1.ParallelPodManagement
}

func (s *stateful) rolling() *appsv1.RollingUpdateStatefulSetStrategy {
	if r := s.of.Spec.UpdateStrategy.RollingUpdate; r != nil {
		return r
	}
	return &appsv1.RollingUpdateStatefulSetStrategy{}
}

// well reports whether the next pod of an ordered set may start after this one.
func (s *stateful) well(p *corev1.Pod) bool {
	return p != nil && active(p) && s.available(p, s.of.Spec.MinReadySeconds)
}

// fit makes missing pods, then ends those that are not wanted, then replaces old ones. An ordered set goes on to the next pod
// only when the one before it is well.
func (s *stateful) fit() {
	calm := true
	for _, n := range s.numbers() {
		s.keep(n)
		if !s.well(s.pods[n]) {
			calm = false
			if !s.parallel() {
				return
			}
		}
	}
	if s.shrink(calm && s.missing(s.start()) == 0) {
		s.update()
	}
}

// numbers returns those of the wanted pods that are there, and of the first ones that are missing and may be made now.
func (s *stateful) numbers() []int {
	all := s.present(s.start())
	room := s.room()
	for n := s.start(); n < s.end() && room > 0; n++ {
		if s.pods[n] == nil {
			all = append(all, n)
			room--
		}
	}
	slices.Sort(all)
	return all
}

// room returns how many missing pods one plan makes. While the node has refused pods of the set, the next ones may be refused too.
func (s *stateful) room() int {
	if !s.parallel() || s.Trouble[s.of.UID] != "" {
		return 1
	}
	refusals := 0
	for _, p := range s.pods {
		refusals += int(count(refused(p)))
	}
	return max(0, burst-refusals)
}

// present returns the numbers of the wanted pods from one on that are there, the lowest first.
func (s *stateful) present(from int) (all []int) {
	for n := range s.pods {
		if s.wanted(n) && n >= from {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return all
}

// missing counts the wanted pods from a number on that are not there. A set may want more than there can be, so none goes over them.
func (s *stateful) missing(from int) int { return max(0, s.end()-from) - len(s.present(from)) }

// keep has the pod of a number run, if there is none or if the one that there was has ended.
func (s *stateful) keep(n int) {
	p := s.pods[n]
	switch {
	case p == nil:
		s.make(n)
	case p.DeletionTimestamp != nil || !ended(p):
		s.claims(n) // one that was lost is made again
	case s.Now.Before(endedAt(p).Add(failedWait)):
		s.plan.again(endedAt(p).Add(failedWait))
	default:
		s.plan.add(Change{Do: DeletePod, Pod: p})
	}
}

// shrink ends the pods that are not wanted, the highest number first. It reports whether there are none.
func (s *stateful) shrink(calm bool) bool {
	numbers := slices.SortedFunc(maps.Keys(s.pods), func(a, b int) int { return cmp.Compare(b, a) })
	none := true
	for _, n := range numbers {
		p := s.pods[n]
		if s.wanted(n) {
			continue
		}
		none = false
		if p.DeletionTimestamp == nil && (calm || s.parallel()) {
			if s.leavesItsClaims(n, p) {
				s.plan.add(Change{Do: DeletePod, Pod: p})
			}
		}
		if !s.parallel() {
			return false
		}
	}
	return none
}

// update replaces pods of old templates, the highest number first, so that not too many are away.
func (s *stateful) update() {
	if s.of.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
		return
	}
	most := max(1, shareOf(s.rolling().MaxUnavailable, int(number(s.of.Spec.Replicas, 1)), true))
	first := s.start() + int(number(s.rolling().Partition, 0))
	there := s.present(first)
	away := s.missing(first)
	for _, n := range there {
		away += int(count(!s.well(s.pods[n])))
	}
	next := s.end() - 1
	for _, n := range slices.Backward(there) {
		p, gap := s.pods[n], n != next
		next = n - 1
		well, done := s.well(p), !active(p) || markOf(p) == s.next.Name
		if away >= most && (well || gap || done) {
			return
		}
		if done {
			continue
		}
		s.plan.add(Change{Do: DeletePod, Pod: p})
		if away += int(count(well)); away >= most {
			return
		}
	}
}

// make makes the pod of a number, with its claims. One that goes has to be gone first, and so has another pod of the name.
func (s *stateful) make(n int) {
	if !s.claims(n) {
		return
	}
	r := s.next
	if s.of.Spec.UpdateStrategy.Type != appsv1.OnDeleteStatefulSetStrategyType && n < s.start()+int(number(s.rolling().Partition, 0)) {
		r = s.current
	}
	template := templateIn(r)
	pod := &corev1.Pod{ObjectMeta: *template.ObjectMeta.DeepCopy(), Spec: *template.Spec.DeepCopy()}
	pod.Namespace, pod.Name, pod.GenerateName = s.of.Namespace, fmt.Sprintf("%s-%d", s.of.Name, n), ""
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(s.of, gvkOf(node.StatefulSet))}
	pod.Labels[appsv1.StatefulSetPodNameLabel] = pod.Name // a template without labels is not selected
	pod.Labels[appsv1.PodIndexLabel] = strconv.Itoa(n)
	pod.Labels[appsv1.ControllerRevisionHashLabelKey] = r.Name
	pod.Spec.Hostname, pod.Spec.Subdomain = pod.Name, s.of.Spec.ServiceName
	node.UseClaims(&pod.Spec, s.of, n)
	if name := s.keyOf(pod.Name); !s.Taken[name] {
		s.Taken[name] = true
		s.makePod(s.of, pod)
	}
}
