package decide

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

func (s *stateful) keyOf(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: s.of.Namespace, Name: name}
}

// claims makes the claims of a pod that are not there. It reports whether the pod can have them: one that goes is made again
// when it is gone.
func (s *stateful) claims(n int) (fine bool) {
	fine = true
	for i, template := range s.of.Spec.VolumeClaimTemplates {
		name := s.keyOf(node.SetClaim(s.of, i, n))
		if old := s.claim(name); old != nil {
			fine = fine && old.DeletionTimestamp == nil
			continue
		}
		made := &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: name.Namespace, Name: name.Name, Annotations: maps.Clone(template.Annotations), Labels: maps.Clone(template.Labels),
			},
			Spec: *template.Spec.DeepCopy(),
		}
		if made.Labels == nil {
			made.Labels = map[string]string{}
		}
		maps.Copy(made.Labels, s.of.Spec.Selector.MatchLabels)
		made.SetGroupVersionKind(gvkOf(node.PersistentVolumeClaim))
		s.plan.add(Change{Do: MakeObject, Value: made})
	}
	return fine
}

func (s *stateful) claim(name types.NamespacedName) *corev1.PersistentVolumeClaim {
	return s.byName[name]
}

// drops reports whether claims go with the pods that are one too many.
func (s *stateful) drops() bool {
	policy := s.of.Spec.PersistentVolumeClaimRetentionPolicy
	return policy != nil && policy.WhenScaled == appsv1.DeletePersistentVolumeClaimRetentionPolicyType
}

// leavesItsClaims reports whether a pod that is not wanted may go: its claims say then that they go after it, if the set wants
// that, so that no crash leaves them behind. They are deleted once the pod is gone, and not if it is wanted again before.
func (s *stateful) leavesItsClaims(n int, p *corev1.Pod) bool {
	noted := true
	for i := range s.of.Spec.VolumeClaimTemplates {
		c := s.claim(s.keyOf(node.SetClaim(s.of, i, n)))
		if !s.drops() || c == nil || c.DeletionTimestamp != nil || c.Annotations[node.AnnotationGoesAfter] == string(p.UID) {
			continue
		}
		noted = false
		s.note(c, string(p.UID))
	}
	return noted
}

// note writes on a claim after which pod it goes; "" means that it stays.
func (s *stateful) note(c *corev1.PersistentVolumeClaim, pod string) {
	next := c.DeepCopy()
	if delete(next.Annotations, node.AnnotationGoesAfter); pod != "" {
		metav1.SetMetaDataAnnotation(&next.ObjectMeta, node.AnnotationGoesAfter, pod)
	}
	s.plan.add(Change{Do: ChangeObject, Value: next})
}

// settleClaims deletes claims whose pod has gone, and keeps those whose pod is wanted again.
func (s *stateful) settleClaims() {
	for _, c := range s.Claims {
		if c.Annotations[node.AnnotationGoesAfter] == "" || c.DeletionTimestamp != nil || !node.SetClaims(s.of, c) {
			continue
		}
		switch n := s.numberOf(c); {
		case n < 0:
		case s.wanted(n) || !s.drops():
			s.note(c, "")
		case s.pods[n] == nil:
			s.plan.add(Change{Do: DeleteObject, Value: c})
		}
	}
}

// numberOf returns the number of the pod that a claim is for.
func (s *stateful) numberOf(c *corev1.PersistentVolumeClaim) int {
	for _, t := range s.of.Spec.VolumeClaimTemplates {
		if n := node.NumberIn(t.Name+"-"+s.of.Name, c.Name); n >= 0 {
			return n
		}
	}
	return -1
}

func (s *stateful) putStatus() {
	next := s.of.DeepCopy()
	next.Status = appsv1.StatefulSetStatus{
		ObservedGeneration: s.of.Generation, CurrentRevision: s.current.Name, UpdateRevision: s.next.Name, CollisionCount: new(int32),
		Conditions: s.of.Status.Conditions,
	}
	to := &next.Status
	for _, p := range s.pods {
		if ended(p) {
			continue
		}
		to.Replicas++
		to.ReadyReplicas += count(active(p) && ready(p))
		to.AvailableReplicas += count(s.well(p))
		to.CurrentReplicas += count(active(p) && markOf(p) == s.current.Name)
		to.UpdatedReplicas += count(active(p) && markOf(p) == s.next.Name)
	}
	all := number(s.of.Spec.Replicas, 1)
	if to.UpdatedReplicas == all && to.Replicas == all && to.ReadyReplicas == all {
		to.CurrentRevision, to.CurrentReplicas = to.UpdateRevision, to.UpdatedReplicas
	}
	if !apiequality.Semantic.DeepEqual(s.of.Status, next.Status) {
		s.plan.add(Change{Do: PutStatus, Value: next})
	}
}
