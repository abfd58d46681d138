package decide

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/manifest"
)

// Kubernetes' annotations of the sets of a deployment.
const (
	desiredNote = "deployment.kubernetes.io/desired-replicas"
	mostNote    = "deployment.kubernetes.io/max-replicas"
	historyNote = "deployment.kubernetes.io/revision-history"
)

// rollout is a deployment with its sets, as they are and as the plan changes them.
type rollout struct {
	*circle
	of    *appsv1.Deployment
	sets  []*appsv1.ReplicaSet // oldest first
	fresh *appsv1.ReplicaSet   // whose template is the deployment's; nil if it is yet to be made
	made  bool                 // the plan makes the fresh set
	stuck string               // why no fresh set is made
	pods  map[types.UID][]*corev1.Pod
}

// deployment takes a deployment some steps towards its template and its number of pods.
func (c *circle) deployment(d *appsv1.Deployment) {
	if c.goes(d) {
		return
	}
	r := &rollout{circle: c, of: d, pods: map[types.UID][]*corev1.Pod{}}
	r.findSets()
	switch {
	case d.Spec.Paused:
		r.resizePaused()
	case d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType:
		r.recreate()
	default:
		r.roll()
	}
	if r.complete() {
		r.forgetHistory()
	}
	r.putStatus()
}

// findSets finds the sets of the deployment, takes those that belong to nothing, and lets those go that it does not select.
func (r *rollout) findSets() {
	chosen, err := metav1.LabelSelectorAsSelector(r.of.Spec.Selector)
	if err != nil {
		return
	}
	for _, s := range r.ReplicaSets {
		if s.Namespace != r.of.Namespace || s.DeletionTimestamp != nil {
			continue
		}
		fits := chosen.Matches(labels.Set(s.Labels))
		switch {
		case ownedBy(s, r.of.UID) && fits:
			r.sets = append(r.sets, s)
		case ownedBy(s, r.of.UID):
			free := s.DeepCopy()
			free.OwnerReferences = slices.DeleteFunc(free.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == r.of.UID })
			r.change(free)
		case fits && metav1.GetControllerOf(s) == nil && !r.claimed[s.UID]:
			r.claimed[s.UID] = true
			mine := s.DeepCopy()
			mine.OwnerReferences = append(mine.OwnerReferences, *metav1.NewControllerRef(r.of, gvkOf(node.Deployment)))
			r.change(mine)
			r.sets = append(r.sets, mine)
		}
	}
	slices.SortStableFunc(r.sets, func(a, b *appsv1.ReplicaSet) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	for _, s := range r.sets {
		r.pods[s.UID] = where(r.Pods, func(p *corev1.Pod) bool { return ownedBy(p, s.UID) })
		if r.fresh == nil && sameTemplate(&s.Spec.Template, &r.of.Spec.Template) {
			r.fresh = s
		}
	}
}

// change has the plan change a set. Another change of the same set takes the place of the first.
func (r *rollout) change(s *appsv1.ReplicaSet) {
	r.changed[s.UID] = true
	for i, c := range r.plan.Changes {
		if c.Do == ChangeObject && c.Value.GetUID() == s.UID {
			r.plan.Changes[i].Value = s
			return
		}
	}
	r.plan.add(Change{Do: ChangeObject, Value: s})
}

// sameTemplate compares templates but for the label by which sets tell their pods apart. Both are compared with their defaults:
// an earlier version, which did not know all of them, may have stored one.
func sameTemplate(a, b *corev1.PodTemplateSpec) bool {
	return apiequality.Semantic.DeepEqual(unmarked(a), unmarked(b))
}

func unmarked(t *corev1.PodTemplateSpec) *corev1.PodTemplateSpec {
	plain := t.DeepCopy()
	manifest.DefaultTemplate(plain)
	delete(plain.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	if len(plain.Labels) == 0 {
		plain.Labels = nil
	}
	return plain
}

func (r *rollout) wanted() int { return int(number(r.of.Spec.Replicas, 1)) }

// old returns the sets of other templates.
func (r *rollout) old() []*appsv1.ReplicaSet {
	return where(r.sets, func(s *appsv1.ReplicaSet) bool { return s != r.fresh })
}

// size sums what sets want.
func size(sets ...*appsv1.ReplicaSet) (sum int) {
	for _, s := range sets {
		sum += int(number(s.Spec.Replicas, 1))
	}
	return sum
}

// availableOf counts the pods of a set that are available and that it goes on wanting.
func (r *rollout) availableOf(s *appsv1.ReplicaSet) int {
	counts := r.replicaSetCounts(s, r.pods[s.UID])
	return min(int(counts.AvailableReplicas), size(s))
}

// revisionOf returns the count of a set's template; 0 if it has none.
func revisionOf(of metav1.Object) int64 {
	count, _ := strconv.ParseInt(of.GetAnnotations()[node.NoteRevision], 10, 64)
	return count
}

// makeFresh makes the set of the present template, or brings its annotations up to date. It reports whether the set is
// there already.
func (r *rollout) makeFresh(replicas int) bool {
	last := int64(0)
	for _, s := range r.old() {
		last = max(last, revisionOf(s))
	}
	if r.fresh == nil {
		if made := r.newSet(replicas, last+1); made != nil {
			r.made = true
			r.plan.add(Change{Do: MakeObject, Value: made})
		}
		return false
	}
	next := r.fresh.DeepCopy()
	next.Spec.MinReadySeconds = r.of.Spec.MinReadySeconds
	r.note(next, max(revisionOf(r.fresh), last+1))
	r.replace(next)
	return true
}

// replace has the plan change the fresh set, if anything differs.
func (r *rollout) replace(next *appsv1.ReplicaSet) {
	if !apiequality.Semantic.DeepEqual(next, r.fresh) {
		r.sets[slices.Index(r.sets, r.fresh)] = next
		r.fresh = next
		r.change(next)
	}
}

// note writes the annotations of the deployment into its set, and the set's place in the history.
func (r *rollout) note(s *appsv1.ReplicaSet, revision int64) {
	notes := maps.Clone(s.Annotations)
	if notes == nil {
		notes = map[string]string{}
	}
	for key, text := range r.of.Annotations {
		if !slices.Contains([]string{corev1.LastAppliedConfigAnnotation, node.NoteRevision, historyNote, desiredNote, mostNote}, key) {
			notes[key] = text
		}
	}
	notes[node.NoteRevision] = strconv.FormatInt(revision, 10)
	notes[desiredNote] = strconv.Itoa(r.wanted())
	notes[mostNote] = strconv.Itoa(r.wanted() + r.surge())
	s.Annotations = notes
}

// mostTries bounds the sets for one template. A set has a second one beside it only if its own template was changed.
const mostTries = 3

// newSet returns a set for the present template. Its name follows from the template, unless another set has that name. It is
// nil if the deployment would not know the set again, or has not known several of them: it would have one more made for ever.
func (r *rollout) newSet(replicas int, revision int64) *appsv1.ReplicaSet {
	text, _ := json.Marshal(unmarked(&r.of.Spec.Template)) // it came from JSON
	mark, name := "", ""
	for n := 0; ; n++ {
		if n == mostTries {
			r.stuck = fmt.Sprintf("There are %d sets of this template already, such as %q, and their templates were changed or they are not selected: delete them", n, name)
			return nil
		}
		mark = word(fmt.Sprintf("%s/%d", text, n), 10)
		name = r.of.Name + "-" + mark
		if !slices.ContainsFunc(r.ReplicaSets, func(s *appsv1.ReplicaSet) bool { return s.Namespace == r.of.Namespace && s.Name == name }) {
			break
		}
	}
	made := r.setNamed(name, mark, replicas)
	if chosen, err := metav1.LabelSelectorAsSelector(r.of.Spec.Selector); err != nil || !chosen.Matches(labels.Set(made.Labels)) {
		r.stuck = fmt.Sprintf("The selector does not select the sets of the template: take %s out of it", appsv1.DefaultDeploymentUniqueLabelKey)
		return nil
	}
	r.note(made, revision)
	return made
}

func (r *rollout) setNamed(name, mark string, replicas int) *appsv1.ReplicaSet {
	template, selector := *r.of.Spec.Template.DeepCopy(), r.of.Spec.Selector.DeepCopy()
	template.Labels = marked(template.Labels, mark)
	selector.MatchLabels = marked(selector.MatchLabels, mark)
	made := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: r.of.Namespace, Name: name, Labels: marked(r.of.Spec.Template.Labels, mark),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(r.of, gvkOf(node.Deployment))},
		},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: new(int32(replicas)), MinReadySeconds: r.of.Spec.MinReadySeconds, Selector: selector, Template: template,
		},
	}
	made.SetGroupVersionKind(gvkOf(node.ReplicaSet))
	return made
}

func marked(set map[string]string, mark string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, set)
	all[appsv1.DefaultDeploymentUniqueLabelKey] = mark
	return all
}

// resize has a set want another number of pods.
func (r *rollout) resize(s *appsv1.ReplicaSet, replicas int) {
	if size(s) == replicas {
		return
	}
	next := s.DeepCopy()
	next.Spec.Replicas = new(int32(replicas))
	i := slices.Index(r.sets, s)
	if r.fresh == s {
		r.fresh = next
	}
	r.sets[i] = next
	r.change(next)
}

// forgetHistory deletes the oldest sets beyond the limit, which have no pods.
func (r *rollout) forgetHistory() {
	limit := int(number(r.of.Spec.RevisionHistoryLimit, 10))
	empty := where(r.old(), func(s *appsv1.ReplicaSet) bool { return size(s) == 0 && len(r.pods[s.UID]) == 0 && !r.changed[s.UID] })
	slices.SortStableFunc(empty, func(a, b *appsv1.ReplicaSet) int { return cmp.Compare(revisionOf(a), revisionOf(b)) })
	for _, s := range empty[:max(0, len(empty)-limit)] {
		r.changed[s.UID] = true
		r.plan.add(Change{Do: DeleteObject, Value: s})
	}
}
