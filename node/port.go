package node

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Port is the number of a container's port that a probe or a hook means. It may
// mean it by a name that no port has.
func Port(port intstr.IntOrString, ports []corev1.ContainerPort) (int32, error) {
	if port.Type == intstr.Int {
		return port.IntVal, nil
	}
	for i := range ports {
		if ports[i].Name == port.StrVal {
			return ports[i].ContainerPort, nil
		}
	}
	return 0, fmt.Errorf("find port %q among the container's ports: %w", port.StrVal, ErrNotFound)
}
