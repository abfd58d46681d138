package rules

import (
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// workloadCheck holds the rules that workloads share.
type workloadCheck struct {
	*check
	meta *metav1.ObjectMeta
	spec *field.Path
}

func workload(meta *metav1.ObjectMeta) workloadCheck {
	return workloadCheck{&check{errs: metaOf(meta, true)}, meta, specPath}
}

var specPath = field.NewPath("spec")

// count checks a number that may be left out.
func (c workloadCheck) count(name string, value *int32) {
	if value != nil {
		c.notNegative(c.spec.Child(name), int64(*value))
	}
}

func (c workloadCheck) seconds(name string, value *int64) {
	if value != nil {
		c.notNegative(c.spec.Child(name), *value)
	}
}

// template checks the pods that would be made, as pods.
func (c workloadCheck) template(template *corev1.PodTemplateSpec, policies ...corev1.RestartPolicy) {
	at := c.spec.Child("template")
	pod := &corev1.Pod{ObjectMeta: *template.ObjectMeta.DeepCopy(), Spec: template.Spec}
	pod.Name, pod.Namespace = "pod", c.meta.Namespace
	pod.GenerateName = ""
	c.pod(pod)
	policy := template.Spec.RestartPolicy
	if known := []corev1.RestartPolicy{corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever}; slices.Contains(known, policy) {
		oneOf(c.check, at.Child("spec", "restartPolicy"), policy, policies...)
	}
}

// pod checks one of the pods that would be made.
func (c workloadCheck) pod(pod *corev1.Pod) {
	for _, err := range Pod(pod) {
		err.Field = c.spec.Child("template").String() + "." + err.Field
		c.errs = append(c.errs, err)
	}
}

// forever checks the template of pods that run until they are deleted.
func (c workloadCheck) forever(template *corev1.PodTemplateSpec) {
	c.template(template, corev1.RestartPolicyAlways)
	if template.Spec.ActiveDeadlineSeconds != nil {
		c.refused(c.spec.Child("template", "spec", "activeDeadlineSeconds"), "pods of this kind have no deadline")
	}
}

// selector checks that the pods of the template are those that are selected.
func (c workloadCheck) selector(selector *metav1.LabelSelector, template *corev1.PodTemplateSpec) {
	at, of := c.spec.Child("selector"), c.spec.Child("template", "metadata", "labels")
	const differ = "`selector` does not match template `labels`"
	if selector == nil {
		c.missing(at, "")
		c.bad(of, "", differ)
		return
	}
	c.errs = append(c.errs, metav1validation.ValidateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{}, at)...)
	if len(selector.MatchLabels)+len(selector.MatchExpressions) == 0 {
		c.bad(at, "", "must not be empty: it would select every pod of the namespace")
		return
	}
	chosen, err := metav1.LabelSelectorAsSelector(selector)
	switch {
	case err != nil:
		c.bad(at, "", "invalid label selector")
	case !chosen.Matches(labels.Set(template.Labels)):
		c.bad(of, "", differ)
	}
}

// share checks a number of pods, or a part of all of them in percent.
func (c workloadCheck) share(at *field.Path, value *intstr.IntOrString) {
	switch {
	case value == nil:
	case value.Type == intstr.Int:
		c.notNegative(at, int64(value.IntVal))
	default:
		c.badEach(at, value.StrVal, validation.IsValidPercent(value.StrVal))
	}
}

// part checks a share of all pods, which is at most all of them.
func (c workloadCheck) part(at *field.Path, value *intstr.IntOrString) {
	c.share(at, value)
	if above(value) {
		c.bad(at, value.StrVal, "must not be greater than 100%")
	}
}

// none reports whether a share is of no pods at all.
func none(value *intstr.IntOrString) bool {
	return value != nil && (value.Type == intstr.Int && value.IntVal == 0 || value.Type == intstr.String && strings.Trim(value.StrVal, "0") == "%")
}

// above reports whether a share is of more than all pods.
func above(value *intstr.IntOrString) bool {
	if value == nil || value.Type == intstr.Int {
		return false
	}
	share, err := intstr.GetScaledValueFromIntOrPercent(value, 100, false)
	return err == nil && share > 100 && share < math.MaxInt32
}
