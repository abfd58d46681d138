package status

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// setMounts shows how the volumes of a container are mounted: of those that are read-only, whether all that is mounted
// below them is read-only too. A manifest may leave that to the runtime.
func setMounts(s *corev1.ContainerStatus, c *corev1.Container, run *node.Container) {
	if !run.Inspected {
		return
	}
	for i := range c.VolumeMounts {
		mount := &c.VolumeMounts[i]
		shown := corev1.VolumeMountStatus{Name: mount.Name, MountPath: mount.MountPath, ReadOnly: mount.ReadOnly}
		if mount.ReadOnly {
			mode := corev1.RecursiveReadOnlyDisabled
			if run.Mounts != nil && slices.Contains(run.Mounts.Deep, mount.MountPath) {
				mode = corev1.RecursiveReadOnlyEnabled
			}
			shown.RecursiveReadOnly = &mode
		}
		s.VolumeMounts = append(s.VolumeMounts, shown)
	}
}
