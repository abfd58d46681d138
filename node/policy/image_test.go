package policy

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

func TestNamesOfImagesBelongToThePodsThatUseThem(t *testing.T) {
	const digest = "@sha256:0123456789012345678901234567890123456789012345678901234567890123"
	p := Policy{Posters: map[Poster]Level{Operator: Baseline}}
	inVolume := func(s *corev1.PodSpec) {
		privilegedContainer(s)
		s.Containers[0].Image = "other:1"
		s.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: "web:1"}}}}
	}
	inInit := func(s *corev1.PodSpec) {
		privilegedContainer(s)
		s.InitContainers = []corev1.Container{{Name: "init", Image: "docker.io/library/web:1"}}
		s.Containers[0].Image = "other:1"
	}
	byDigest := func(s *corev1.PodSpec) {
		privilegedContainer(s)
		s.Containers[0].Image = "web:1" + digest
	}
	for _, c := range []struct {
		name   string
		change func(*corev1.PodSpec)
		image  string
		by     Poster
		denied bool
	}{
		{"a container's", privilegedContainer, "docker.io/library/web:1", Operator, true},
		{"a volume's", inVolume, "docker.io/library/web:1", Operator, true},
		{"an init container's", inInit, "docker.io/library/web:1", Operator, true},
		{"an admin", privilegedContainer, "docker.io/library/web:1", Admin, false},
		{"another tag", privilegedContainer, "docker.io/library/web:2", Operator, false},
		{"a pod that the operator could post", nil, "docker.io/library/web:1", Operator, false},
		{"a pod that names the digest", byDigest, "docker.io/library/web:1", Operator, false},
	} {
		err := p.Name(c.image, pod("default", c.change), c.by)
		if denied := errors.Is(err, node.ErrDenied); denied != c.denied {
			t.Errorf("%s: got %v, want a refusal: %t", c.name, err, c.denied)
		} else if denied && !strings.Contains(err.Error(), c.image+" is used by pod default/web") {
			t.Errorf("%s: got %v, want image and pod named", c.name, err)
		}
	}
}
