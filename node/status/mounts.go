package status

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// setMounts shows how the volumes of a container are mounted, or will be before its first run, which is nil: of those that
// are read-only, whether all that is mounted below them is read-only too. A manifest may leave that to the runtime.
func setMounts(s *corev1.ContainerStatus, c *corev1.Container, run *node.Container) {
	for i := range c.VolumeMounts {
		mount := &c.VolumeMounts[i]
		shown := corev1.VolumeMountStatus{Name: mount.Name, MountPath: mount.MountPath, ReadOnly: mount.ReadOnly}
		if mount.ReadOnly {
			shown.RecursiveReadOnly = recursion(mount, run)
		}
		s.VolumeMounts = append(s.VolumeMounts, shown)
	}
}

// recursion returns whether all below a read-only mount is read-only, or nil if the runtime has not said so yet.
func recursion(mount *corev1.VolumeMount, run *node.Container) *corev1.RecursiveReadOnlyMode {
	asked := mount.RecursiveReadOnly != nil && *mount.RecursiveReadOnly != corev1.RecursiveReadOnlyDisabled
	switch known := run != nil && run.Inspected; {
	case known && run.Mounts != nil && slices.Contains(run.Mounts.Deep, mount.MountPath):
		return new(corev1.RecursiveReadOnlyEnabled)
	case known || !asked:
		return new(corev1.RecursiveReadOnlyDisabled)
	}
	return nil
}
