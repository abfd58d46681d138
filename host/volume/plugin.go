package volume

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Plugin returns the name of the plugin that Kubernetes has for such a volume. It is empty as long as it is unknown what
// the volume's claim is bound to.
func (t *Tree) Plugin(pod *corev1.Pod, name string) string {
	at, kind, err := t.find(pod, name)
	switch {
	case err != nil:
		return ""
	case kind.dir != "":
		return strings.Replace(kind.dir, "~", "/", 1)
	case at.lasting != nil && at.lasting.Spec.Local != nil:
		return "kubernetes.io/local-volume"
	case at.volume.HostPath != nil:
		return "kubernetes.io/host-path"
	case at.volume.Image != nil:
		return "kubernetes.io/image"
	}
	return ""
}
