package store

import (
	"fmt"
	coordinationv1 "k8s.io/api/coordination/v1"
	"reflect"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"nodal/node"
)

// filledMoment stands in every field that holds a time.
var filledMoment = time.Date(2026, 11, 23, 12, 0, 0, 123456789, time.UTC)

// filledSlot is a slot of which every field of ours holds something.
func filledSlot(t *testing.T) *node.Slot {
	slot := &node.Slot{}
	fill(t, reflect.ValueOf(slot).Elem(), "Slot")
	return slot
}

// filledObjects are one object of each kind.
func filledObjects(t *testing.T) []*node.Object {
	var objects []*node.Object
	for _, kind := range node.Kinds() {
		value := reflect.New(reflect.TypeOf(kind.New())).Elem()
		fill(t, value, kind.Record)
		object := node.NewObject(value.Interface().(node.Value))
		fill(t, reflect.ValueOf(&object.Source).Elem(), kind.Record+".Source")
		fill(t, reflect.ValueOf(&object.Origin).Elem(), kind.Record+".Origin")
		objects = append(objects, object)
	}
	return objects
}

// fill gives a value to every recorded field below v. Kubernetes' types get a sample:
// their own makers keep their encoding stable.
func fill(t *testing.T, v reflect.Value, path string) {
	t.Helper()
	if sample, ok := sampleOf(v.Type()); ok {
		v.Set(sample)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), path)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0), path+"[0]")
	case reflect.Map:
		key, element := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		key.SetString("app")
		fill(t, element, path+"[app]")
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, element)
	case reflect.Struct:
		if !isOurs(v.Type()) {
			t.Fatalf("%s is a %s: add a sample of it", path, v.Type())
		}
		for _, field := range recorded(v.Type()) {
			fill(t, v.FieldByIndex(field.Index), path+"."+field.Name)
		}
	default:
		fillScalar(t, v, path)
	}
}

func fillScalar(t *testing.T, v reflect.Value, path string) {
	t.Helper()
	switch {
	case v.Kind() == reflect.String:
		v.SetString("of " + path)
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(int64(len(path)))
	case v.CanUint():
		v.SetUint(uint64(min(len(path), 2))) // small enough for enumerations
	default:
		t.Fatalf("%s is a %s: say how it is filled", path, v.Type())
	}
}

// recorded are the fields of a type that are part of a record.
func recorded(of reflect.Type) []reflect.StructField {
	var fields []reflect.StructField
	for _, field := range reflect.VisibleFields(of) {
		if field.Tag.Get("json") != "-" && !field.Anonymous {
			fields = append(fields, field)
		}
	}
	return fields
}

func isOurs(of reflect.Type) bool { return strings.HasPrefix(of.PkgPath(), "nodal/") }

// sampleOf is a sample of a type that is not ours.
func sampleOf(of reflect.Type) (reflect.Value, bool) {
	for _, sample := range samples() {
		if reflect.TypeOf(sample) == of {
			return reflect.ValueOf(sample), true
		}
	}
	return reflect.Value{}, false
}

func samples() []any {
	meta := metav1.ObjectMeta{Name: "web", UID: "u1", Labels: map[string]string{"app": "web"}}
	placed := meta
	placed.Namespace = "default"
	amounts := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}
	ports := []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}}
	hook := &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"sync"}}}
	probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromString("http")}}}
	run := corev1.Container{
		Name: "app", Image: "example.com/app:1", Ports: ports, Lifecycle: &corev1.Lifecycle{PreStop: hook},
		Resources: corev1.ResourceRequirements{Requests: amounts}, LivenessProbe: probe,
	}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: meta.Labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{run}}}
	condition := corev1.PodCondition{
		Type: "example.com/fed", Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(filledMoment),
	}
	return []any{
		filledMoment,
		&corev1.Pod{ObjectMeta: placed, Spec: corev1.PodSpec{Containers: []corev1.Container{run}, NodeName: "node-a"}},
		&corev1.PodStatus{
			Phase: corev1.PodFailed, Conditions: []corev1.PodCondition{condition},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "app", RestartCount: 3}},
		},
		condition,
		&run,
		corev1.ResourceRequirements{Requests: amounts},
		&corev1.LinuxContainerUser{UID: 1000, GID: 1000, SupplementalGroups: []int64{2000}},
		&corev1.ConfigMap{ObjectMeta: placed, Data: map[string]string{"colour": "blue"}},
		&corev1.Secret{ObjectMeta: placed, Data: map[string][]byte{"word": []byte("hidden")}, Type: corev1.SecretTypeOpaque},
		&corev1.PersistentVolume{ObjectMeta: meta, Spec: corev1.PersistentVolumeSpec{Capacity: amounts}},
		&corev1.PersistentVolumeClaim{ObjectMeta: placed, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "web"}},
		&nodev1.RuntimeClass{ObjectMeta: meta, Handler: "runc"},
		&certificatesv1.ClusterTrustBundle{ObjectMeta: meta, Spec: certificatesv1.ClusterTrustBundleSpec{TrustBundle: "PEM"}},
		&networkingv1.NetworkPolicy{ObjectMeta: meta, Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
		}},
		&storagev1.CSIDriver{ObjectMeta: meta, Spec: storagev1.CSIDriverSpec{FSGroupPolicy: new(storagev1.FileFSGroupPolicy)}},
		&coordinationv1.Lease{ObjectMeta: placed, Spec: coordinationv1.LeaseSpec{HolderIdentity: new("a"), LeaseDurationSeconds: new(int32(15))}},
		&appsv1.ReplicaSet{ObjectMeta: placed, Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(2)), Template: template}},
		&appsv1.Deployment{ObjectMeta: placed, Spec: appsv1.DeploymentSpec{Replicas: new(int32(2)), Template: template}},
		&batchv1.Job{ObjectMeta: placed, Spec: batchv1.JobSpec{Completions: new(int32(2)), Template: template}},
		&appsv1.DaemonSet{ObjectMeta: placed, Spec: appsv1.DaemonSetSpec{MinReadySeconds: 2, Template: template}},
		&appsv1.StatefulSet{ObjectMeta: placed, Spec: appsv1.StatefulSetSpec{Replicas: new(int32(2)), Template: template, ServiceName: "web"}},
		&batchv1.CronJob{ObjectMeta: placed, Spec: batchv1.CronJobSpec{
			Schedule: "@daily", JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: template}},
		}},
		&appsv1.ControllerRevision{ObjectMeta: placed, Data: runtime.RawExtension{Raw: []byte(`{"spec":{}}`)}, Revision: 2},
		&corev1.Service{ObjectMeta: placed, Spec: corev1.ServiceSpec{Selector: meta.Labels, ClusterIP: "10.96.0.7", Ports: []corev1.ServicePort{{Port: 80}}}},
		&discoveryv1.EndpointSlice{
			ObjectMeta: placed, AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.89.0.2"}}},
		},
		&schedulingv1.PriorityClass{ObjectMeta: meta, Value: 1000, Description: "for what matters"},
	}
}

func TestEveryRecordedFieldIsFilled(t *testing.T) {
	var empty []string
	var look func(v reflect.Value, path string)
	look = func(v reflect.Value, path string) {
		if v.IsZero() {
			empty = append(empty, path)
			return
		}
		switch {
		case v.Kind() == reflect.Pointer:
			look(v.Elem(), path)
		case v.Kind() == reflect.Struct && isOurs(v.Type()):
			for _, field := range recorded(v.Type()) {
				look(v.FieldByIndex(field.Index), path+"."+field.Name)
			}
		case v.Kind() == reflect.Slice && isOurs(v.Type().Elem()):
			look(v.Index(0), path+"[0]")
		case v.Kind() == reflect.Map && isOurs(v.Type().Elem()):
			look(v.MapIndex(v.MapKeys()[0]), fmt.Sprintf("%s[%s]", path, v.MapKeys()[0]))
		}
	}
	look(reflect.ValueOf(filledSlot(t)), "Slot")
	if len(empty) > 0 {
		t.Errorf("empty: %q; want every field filled", empty)
	}
}
