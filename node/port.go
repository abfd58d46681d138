package node

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Port returns the number of the container port that a probe or a hook names. It fails if no port
// has that name.
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
