package policy

import (
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"
	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// Free reports whether by may post every pod.
func (p Policy) Free(by Poster) bool {
	level := p.Posters[by]
	return level == "" || level == Privileged
}

// Name returns an error that wraps node.ErrDenied if by may not give an image a name, because the pod uses that name and
// by could not have posted it.
func (p Policy) Name(reference string, pod *corev1.Pod, by Poster) error {
	if !uses(pod, reference) {
		return nil
	}
	violations := p.Check(pod, by)
	if len(violations) == 0 {
		return nil
	}
	first := violations[0]
	return fmt.Errorf("image %s is used by pod %s, which may do more than %s may post: %s: %s: %w",
		reference, node.KeyOf(pod), by, first.Field, first.Rule, node.ErrDenied)
}

// uses reports whether a container or a volume of the pod is made of the image.
func uses(pod *corev1.Pod, reference string) bool {
	for c := range node.EveryContainer(&pod.Spec) {
		if SameImage(c.Image, reference) {
			return true
		}
	}
	for _, v := range pod.Spec.Volumes {
		if v.Image != nil && SameImage(v.Image.Reference, reference) {
			return true
		}
	}
	return false
}

// SameImage reports whether two names, short or in full, are of one image.
func SameImage(a, b string) bool {
	one, err := name.ParseReference(a)
	if err != nil {
		return false
	}
	other, err := name.ParseReference(b)
	return err == nil && one.Name() == other.Name()
}
