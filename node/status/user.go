package status

import (
	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// setUser shows the user of a run and its stop signal, as far as the runtime reports them.
func setUser(s *corev1.ContainerStatus, run *node.Container) {
	if run.User != nil {
		s.User = &corev1.ContainerUser{Linux: run.User.DeepCopy()}
	}
	if run.StopSignal != "" {
		signal := run.StopSignal
		s.StopSignal = &signal
	}
}
