package rules

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodal/node"
)

// StatefulSet returns the rules that a defaulted StatefulSet breaks.
func StatefulSet(set *appsv1.StatefulSet) field.ErrorList {
	c, spec := workload(&set.ObjectMeta), &set.Spec
	c.count("replicas", spec.Replicas)
	c.count("minReadySeconds", &spec.MinReadySeconds)
	c.count("revisionHistoryLimit", spec.RevisionHistoryLimit)
	if spec.Ordinals != nil {
		c.notNegative(c.spec.Child("ordinals", "start"), int64(spec.Ordinals.Start))
	}
	oneOf(c.check, c.spec.Child("podManagementPolicy"), spec.PodManagementPolicy, appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement)
	c.statefulStrategy(&spec.UpdateStrategy)
	c.retention(spec.PersistentVolumeClaimRetentionPolicy)
	if spec.ServiceName != "" {
		c.name(c.spec.Child("serviceName"), spec.ServiceName, validation.IsDNS1035Label)
	}
	c.claims(set)
	c.selector(spec.Selector, &spec.Template)
	template := *spec.Template.DeepCopy()
	node.UseClaims(&template.Spec, set, 0)
	c.forever(&template)
	return c.errs
}

func (c workloadCheck) statefulStrategy(how *appsv1.StatefulSetUpdateStrategy) {
	at := c.spec.Child("updateStrategy")
	oneOf(c.check, at, how.Type, appsv1.RollingUpdateStatefulSetStrategyType, appsv1.OnDeleteStatefulSetStrategyType)
	rolling := how.RollingUpdate
	if rolling == nil {
		return
	}
	at = at.Child("rollingUpdate")
	if how.Type == appsv1.OnDeleteStatefulSetStrategyType {
		c.bad(at, "", "only allowed for updateStrategy 'RollingUpdate'")
		return
	}
	if rolling.Partition != nil {
		c.notNegative(at.Child("partition"), int64(*rolling.Partition))
	}
	c.part(at.Child("maxUnavailable"), rolling.MaxUnavailable)
	if zero := rolling.MaxUnavailable; zero != nil && (*zero == intstr.FromInt32(0) || *zero == intstr.FromString("0%")) {
		c.bad(at.Child("maxUnavailable"), zero.String(), "cannot be 0")
	}
}

func (c workloadCheck) retention(policy *appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy) {
	if policy == nil {
		return
	}
	const keep, drop = appsv1.RetainPersistentVolumeClaimRetentionPolicyType, appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	at := c.spec.Child("persistentVolumeClaimRetentionPolicy")
	oneOf(c.check, at.Child("whenDeleted"), policy.WhenDeleted, keep, drop)
	oneOf(c.check, at.Child("whenScaled"), policy.WhenScaled, keep, drop)
}

// claims checks the claims that would be made, as claims.
func (c workloadCheck) claims(set *appsv1.StatefulSet) {
	seen := map[string]bool{}
	for i := range set.Spec.VolumeClaimTemplates {
		at := c.spec.Child("volumeClaimTemplates").Index(i)
		claim := set.Spec.VolumeClaimTemplates[i].DeepCopy()
		c.unique(at.Child("metadata", "name"), seen, claim.Name)
		claim.Namespace, claim.Status = set.Namespace, corev1.PersistentVolumeClaimStatus{}
		for _, err := range PersistentVolumeClaim(claim) {
			err.Field = at.String() + "." + err.Field
			c.errs = append(c.errs, err)
		}
	}
}
