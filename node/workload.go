package node

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What runs workloads notes in these annotations. A manifest without them leaves them as they are.
const (
	NoteRevision = "deployment.kubernetes.io/revision" // counts the changes of a deployment's template
	NoteCounted  = "nodal.node/counted-pods"           // UIDs of the pods of a job that its status counts as ended
)

// WorkloadNotes lists these annotations.
var WorkloadNotes = []string{NoteRevision, NoteCounted}

// Workload reports whether objects of the kind stand for pods.
func (k ObjectKind) Workload() bool {
	known, _ := kindWhere(func(row Kind) bool { return row.Name == k })
	return known.Workload
}

// Template returns the pod that a workload makes copies of, and nil of an object that is none.
func (o *Object) Template() *corev1.PodTemplateSpec {
	switch v := o.Value.(type) {
	case *appsv1.ReplicaSet:
		return &v.Spec.Template
	case *appsv1.Deployment:
		return &v.Spec.Template
	case *batchv1.Job:
		return &v.Spec.Template
	case *appsv1.DaemonSet:
		return &v.Spec.Template
	case *appsv1.StatefulSet:
		return &v.Spec.Template
	case *batchv1.CronJob:
		return &v.Spec.JobTemplate.Spec.Template
	}
	return nil
}

// Copy returns a pod as a workload would make it, but for its name.
func (o *Object) Copy() *corev1.Pod {
	template := o.Template().DeepCopy()
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Namespace = o.Meta().Namespace
	if set, ok := o.Value.(*appsv1.StatefulSet); ok {
		UseClaims(&pod.Spec, set, 0)
	}
	return pod
}

// AnnotationGoesAfter is on a claim that its StatefulSet deletes once a pod, whose UID it has, is gone.
const AnnotationGoesAfter = "nodal.node/goes-after"

// SetClaim names the claim that a set makes from one of its templates for the pod of a number.
func SetClaim(set *appsv1.StatefulSet, template, n int) string {
	return fmt.Sprintf("%s-%s-%d", set.Spec.VolumeClaimTemplates[template].Name, set.Name, n)
}

// UseClaims has the pod of a number use the claims of its set as volumes.
func UseClaims(spec *corev1.PodSpec, set *appsv1.StatefulSet, n int) {
	for i := range set.Spec.VolumeClaimTemplates {
		name := set.Spec.VolumeClaimTemplates[i].Name
		claim := &corev1.PersistentVolumeClaimVolumeSource{ClaimName: SetClaim(set, i, n)}
		spec.Volumes = append(slices.DeleteFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Name == name }),
			corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: claim}})
	}
}

// SetClaims reports whether a set has made a claim: by its name and its labels, as Kubernetes does.
func SetClaims(set *appsv1.StatefulSet, claim *corev1.PersistentVolumeClaim) bool {
	for key, value := range set.Spec.Selector.MatchLabels {
		if claim.Labels[key] != value {
			return false
		}
	}
	return claim.Namespace == set.Namespace && slices.ContainsFunc(set.Spec.VolumeClaimTemplates, func(t corev1.PersistentVolumeClaim) bool {
		return NumberIn(t.Name+"-"+set.Name, claim.Name) >= 0
	})
}

// NumberIn returns the number that stands after a base and a dash in a name; -1 if none does.
func NumberIn(base, name string) int {
	text, found := strings.CutPrefix(name, base+"-")
	if n, err := strconv.Atoi(text); found && err == nil && n >= 0 && strconv.Itoa(n) == text {
		return n
	}
	return -1
}

// Status returns a pointer to the status of an object, and nil where its kind has none.
func (o *Object) Status() any {
	field := reflect.ValueOf(o.Value).Elem().FieldByName("Status")
	if !field.IsValid() {
		return nil
	}
	return field.Addr().Interface()
}

// TakeStatus replaces the status with that of another object of the kind.
func (o *Object) TakeStatus(from *Object) {
	reflect.ValueOf(o.Status()).Elem().Set(reflect.ValueOf(from.Status()).Elem())
}

// Owner returns the workload that an object belongs to, and nil if there is none.
func Owner(of metav1.Object) *metav1.OwnerReference {
	owner := metav1.GetControllerOf(of)
	if owner == nil || !ObjectKind(owner.Kind).Workload() {
		return nil
	}
	if kind, _ := KindNamed(owner.Kind); kind.Version != owner.APIVersion {
		return nil
	}
	return owner
}
