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

// dropClaims has the claims of a pod go with it, if the set says so. They are in use until it is gone, so they are marked first:
// no crash between the two leaves them behind.
func (s *stateful) dropClaims(n int) {
	policy := s.of.Spec.PersistentVolumeClaimRetentionPolicy
	if policy == nil || policy.WhenScaled != appsv1.DeletePersistentVolumeClaimRetentionPolicyType {
		return
	}
	for i := range s.of.Spec.VolumeClaimTemplates {
		if c := s.claim(s.keyOf(node.SetClaim(s.of, i, n))); c != nil && c.DeletionTimestamp == nil {
			s.plan.add(Change{Do: DeleteObject, Value: c})
		}
	}
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
