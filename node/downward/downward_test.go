package downward

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestField(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "web", Namespace: "shop", UID: "u1",
		Labels:      map[string]string{"tier": "front", "app": "web"},
		Annotations: map[string]string{"note": "two\nlines \"quoted\""},
	}}
	for path, want := range map[string]string{
		"metadata.name":                "web",
		"metadata.namespace":           "shop",
		"metadata.uid":                 "u1",
		"metadata.labels":              "app=\"web\"\ntier=\"front\"",
		"metadata.labels['tier']":      "front",
		"metadata.labels['none']":      "",
		"metadata.annotations":         `note="two\nlines \"quoted\""`,
		"metadata.annotations['note']": "two\nlines \"quoted\"",
	} {
		if got, ok := Field(pod, path); !ok || got != want {
			t.Errorf("%s = %q, %t; want %q", path, got, ok, want)
		}
	}
	for _, path := range []string{"status.podIP", "metadata.labels[tier]", "spec.labels['tier']", ""} {
		if got, ok := Field(pod, path); ok {
			t.Errorf("%q = %q, want nothing", path, got)
		}
	}
}

func TestResource(t *testing.T) {
	c := &corev1.Container{Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{"cpu": resource.MustParse("250m"), "memory": resource.MustParse("32Mi")},
		Limits:   corev1.ResourceList{"cpu": resource.MustParse("1250m")},
	}}
	allocatable := corev1.ResourceList{"memory": resource.MustParse("1Gi")}
	for _, test := range []struct{ name, resource, divisor, want string }{
		{"whole CPUs are rounded up", "limits.cpu", "", "2"},
		{"half a CPU divides", "requests.cpu", "1m", "250"},
		{"memory counts in bytes", "requests.memory", "", "33554432"},
		{"a divisor is its unit", "requests.memory", "1Mi", "32"},
		{"without a limit the node is the limit", "limits.memory", "1Mi", "1024"},
		{"what nobody asked for is nothing", "requests.ephemeral-storage", "", "0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			ref := &corev1.ResourceFieldSelector{Resource: test.resource}
			if test.divisor != "" {
				ref.Divisor = resource.MustParse(test.divisor)
			}
			if got, err := Resource(c, ref, allocatable); err != nil || got != test.want {
				t.Errorf("got %q, %v; want %q", got, err, test.want)
			}
		})
	}
	for _, name := range []string{"limits.gpu", "claims.cpu", "cpu"} {
		if got, err := Resource(c, &corev1.ResourceFieldSelector{Resource: name}, nil); err == nil {
			t.Errorf("%s = %q, want an error", name, got)
		}
	}
}
