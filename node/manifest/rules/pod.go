package rules

import (
	"fmt"
	"math"
	"regexp"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// podCheck holds the rules of the pod as a whole.
type podCheck struct {
	*check
	pod *corev1.Pod
}

// Pod returns the rules that a defaulted pod breaks: those that Kubernetes' API server
// applies when a pod is created.
func Pod(pod *corev1.Pod) field.ErrorList {
	c := podCheck{&check{}, pod}
	spec := field.NewPath("spec")
	c.metadata(field.NewPath("metadata"))
	volumes := volumeCheck{c.check, pod}.volumeList(spec.Child("volumes"))
	containerCheck{c.check, pod, volumes}.containerLists(spec)
	c.podResources(spec.Child("resources"))
	c.podSecurity(spec)
	c.host(spec)
	placementCheck{c.check}.scheduling(&pod.Spec, spec)
	c.lifetime(spec)
	return c.errs
}

var fitUID = regexp.MustCompile(`^[A-Za-z0-9][-_.A-Za-z0-9]{0,127}$`)

// metadata checks names, labels, annotations and owners.
func (c podCheck) metadata(at *field.Path) {
	meta := c.pod.ObjectMeta
	if meta.Name == "" {
		why := "must be given"
		if meta.GenerateName != "" {
			why = "must be given: a node does not make names from generateName"
		}
		c.missing(at.Child("name"), why)
		meta.Name = "unnamed" // to check the rest without a second error
	}
	c.errs = append(c.errs, apivalidation.ValidateObjectMeta(&meta, true, apivalidation.NameIsDNSSubdomain, at)...)
	c.uid(at.Child("uid"), string(meta.UID))
	c.logDirectory(at.Child("name"), &meta)
	annotations := at.Child("annotations")
	if _, mirror := meta.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
		c.refused(annotations.Key(corev1.MirrorPodAnnotationKey), "is written by the node")
	}
	c.deletionCost(annotations)
	c.finalizers(at.Child("finalizers"))
	c.profileAnnotations(annotations)
	c.seccompAnnotations(annotations)
}

// uid checks a UID that a manifest brings along. The pod's directories are called
// by it, its cgroup and its logs too.
func (c podCheck) uid(at *field.Path, uid string) {
	if uid != "" && !fitUID.MatchString(uid) {
		c.bad(at, uid, "must be at most 128 letters, digits, '-', '_' or '.', and begin with a letter or digit")
	}
}

// logDirectory checks a name that the API server takes and no kubelet could start.
func (c podCheck) logDirectory(at *field.Path, meta *metav1.ObjectMeta) {
	const longest, uid = 255, 36
	if room := longest - len(meta.Namespace) - max(len(meta.UID), uid) - len("__"); len(meta.Name) > room {
		c.bad(at, meta.Name, fmt.Sprintf("must be at most %d characters: the log directory NAMESPACE_NAME_UID may have %d", room, longest))
	}
}

// lifetime checks how the pod as a whole starts, restarts and ends.
func (c podCheck) lifetime(at *field.Path) {
	spec := &c.pod.Spec
	oneOf(c.check, at.Child("restartPolicy"), spec.RestartPolicy,
		corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever)
	grace := at.Child("terminationGracePeriodSeconds")
	if spec.TerminationGracePeriodSeconds == nil {
		c.missing(grace, "")
	} else {
		c.notNegative(grace, *spec.TerminationGracePeriodSeconds)
	}
	if deadline := spec.ActiveDeadlineSeconds; deadline != nil {
		c.between(at.Child("activeDeadlineSeconds"), *deadline, 1, math.MaxInt32)
	}
	c.optionalName(at.Child("serviceAccountName"), spec.ServiceAccountName, validation.IsDNS1123Subdomain)
	c.optionalName(at.Child("priorityClassName"), spec.PriorityClassName, validation.IsDNS1123Subdomain)
	if class := spec.RuntimeClassName; class != nil {
		c.name(at.Child("runtimeClassName"), *class, validation.IsDNS1123Subdomain)
	}
	for i, gate := range spec.ReadinessGates {
		c.badEach(at.Child("readinessGates").Index(i).Child("conditionType"),
			string(gate.ConditionType), validation.IsQualifiedName(string(gate.ConditionType)))
	}
}
