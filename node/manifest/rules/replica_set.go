package rules

import (
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ReplicaSet returns the rules that a defaulted ReplicaSet breaks.
func ReplicaSet(set *appsv1.ReplicaSet) field.ErrorList {
	c := workload(&set.ObjectMeta)
	c.count("replicas", set.Spec.Replicas)
	c.count("minReadySeconds", &set.Spec.MinReadySeconds)
	c.selector(set.Spec.Selector, &set.Spec.Template)
	c.forever(&set.Spec.Template)
	return c.errs
}

// Deployment returns the rules that a defaulted Deployment breaks.
func Deployment(d *appsv1.Deployment) field.ErrorList {
	c := workload(&d.ObjectMeta)
	c.count("replicas", d.Spec.Replicas)
	c.count("minReadySeconds", &d.Spec.MinReadySeconds)
	c.count("revisionHistoryLimit", d.Spec.RevisionHistoryLimit)
	c.count("progressDeadlineSeconds", d.Spec.ProgressDeadlineSeconds)
	if deadline := d.Spec.ProgressDeadlineSeconds; deadline != nil && *deadline <= d.Spec.MinReadySeconds {
		c.bad(specPath.Child("progressDeadlineSeconds"), *deadline, "must be greater than minReadySeconds")
	}
	c.strategy(&d.Spec.Strategy)
	c.selector(d.Spec.Selector, &d.Spec.Template)
	c.unmarked(d.Spec.Selector)
	c.forever(&d.Spec.Template)
	return c.errs
}

// unmarked refuses a selector with the label by which the sets of a deployment differ: it would select none of them, or not all.
// Kubernetes takes it, and makes sets without end.
func (c workloadCheck) unmarked(selector *metav1.LabelSelector) {
	const mark, why = appsv1.DefaultDeploymentUniqueLabelKey, "is the label by which the sets of a Deployment tell their pods apart: leave it out"
	if selector == nil {
		return
	}
	at := specPath.Child("selector")
	if _, there := selector.MatchLabels[mark]; there {
		c.refused(at.Child("matchLabels").Key(mark), why)
	}
	for i, r := range selector.MatchExpressions {
		if r.Key == mark {
			c.bad(at.Child("matchExpressions").Index(i).Child("key"), mark, why)
		}
	}
}

func (c workloadCheck) strategy(how *appsv1.DeploymentStrategy) {
	at := specPath.Child("strategy")
	oneOf(c.check, at, how.Type, appsv1.RollingUpdateDeploymentStrategyType, appsv1.RecreateDeploymentStrategyType)
	rolling := how.RollingUpdate
	if rolling == nil {
		return
	}
	if how.Type == appsv1.RecreateDeploymentStrategyType {
		c.refused(at.Child("rollingUpdate"), "may not be specified when strategy `type` is 'Recreate'")
		return
	}
	at = at.Child("rollingUpdate")
	c.share(at.Child("maxSurge"), rolling.MaxSurge)
	c.part(at.Child("maxUnavailable"), rolling.MaxUnavailable)
	if none(rolling.MaxSurge) && none(rolling.MaxUnavailable) {
		c.bad(at.Child("maxUnavailable"), rolling.MaxUnavailable.String(), "may not be 0 when `maxSurge` is 0")
	}
}
