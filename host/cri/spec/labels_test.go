package spec

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestPreStopHooksAreReadBack(t *testing.T) {
	ports := []corev1.ContainerPort{{Name: "web", ContainerPort: 8080}}
	hook := &corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/bye", Port: intstr.FromString("web")}}
	annotations := func(c *corev1.Container) map[string]string {
		written, err := containerAnnotations(Run{Allocated: &corev1.Pod{}, Container: c})
		if err != nil {
			t.Fatal(err)
		}
		return written
	}
	for _, c := range []struct {
		name        string
		annotations map[string]string
		want        *corev1.Container
	}{
		{"a hook with the ports that it names", annotations(&corev1.Container{Ports: ports, Lifecycle: &corev1.Lifecycle{PreStop: hook}}), &corev1.Container{Ports: ports, Lifecycle: &corev1.Lifecycle{PreStop: hook}}},
		{"one without ports", annotations(&corev1.Container{Lifecycle: &corev1.Lifecycle{PreStop: hook}}), &corev1.Container{Lifecycle: &corev1.Lifecycle{PreStop: hook}}},
		{"a container without one", annotations(&corev1.Container{Ports: ports}), nil},
		{"what nobody can read", map[string]string{annotationPreStop: "{", annotationPorts: "[]"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := HookedOf(c.annotations); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
