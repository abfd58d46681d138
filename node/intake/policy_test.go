package intake

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
	"nodal/node/policy"
)

func privileged(p *corev1.Pod) {
	p.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: new(true)}
}

func TestDeliveriesKeepToTheLevelOfTheirPoster(t *testing.T) {
	const field = "spec.containers[*].securityContext.privileged"
	volume := node.NewObject(&corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "disk"},
		Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{
			HostPath: &corev1.HostPathVolumeSource{Path: "/"}}},
	})
	b := newBench(t)
	b.in.Policy = policy.Policy{Posters: map[policy.Poster]policy.Level{policy.Operator: policy.Baseline}}
	as := func(by policy.Poster, p *corev1.Pod) Delivery { return Delivery{Pod: p, By: by} }
	for _, step := range []struct {
		name     string
		delivery Delivery
		want     string
	}{
		{"an operator's pod", as(policy.Operator, pod("web", "a:1")), "created"},
		{"an operator's privileged pod", as(policy.Operator, pod("root", "a:1", privileged)), field},
		{"an admin's privileged pod", as(policy.Admin, pod("root", "a:1", privileged)), "created"},
		{"that pod, unchanged, from an operator", as(policy.Operator, pod("root", "a:1", privileged)), "unchanged"},
		{"that pod with another image, from an operator", as(policy.Operator, pod("root", "a:2", privileged)), field},
		{"a privileged pod in the place of an operator's own", as(policy.Operator, pod("web", "a:1", privileged)), field},
		{"a pod that names no caller counts as an admin's", as("", pod("tool", "a:1", privileged)), "created"},
		{"an operator's volume on the machine's files", Delivery{Object: volume, By: policy.Operator}, "spec.hostPath"},
		{"an admin's", Delivery{Object: volume, By: policy.Admin}, "created"},
	} {
		if got := b.posts(step.delivery); got != step.want {
			t.Errorf("%s: %s, want %s", step.name, got, step.want)
		}
	}
}

func TestFilesHaveALevelOfTheirOwn(t *testing.T) {
	b := newBench(t)
	b.in.Source = node.SourceFile
	b.in.Policy = policy.Policy{Posters: map[policy.Poster]policy.Level{policy.File: policy.Baseline}}
	if got, want := b.posts(Delivery{Pod: pod("web", "a:1", privileged)}), "spec.containers[*].securityContext.privileged"; got != want {
		t.Errorf("a privileged pod of a file: %s, want %s", got, want)
	}
}
