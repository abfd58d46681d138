package rules

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodal/node"
)

// mountCheck holds the rules by which a container gets at the volumes of its pod.
type mountCheck struct {
	*check
	pod     *corev1.Pod
	volumes map[string]*corev1.VolumeSource
}

func (c mountCheck) mounts(container *corev1.Container, at *field.Path) {
	paths := map[string]bool{}
	for i := range container.VolumeMounts {
		mount, in := &container.VolumeMounts[i], at.Index(i)
		volume, found := c.volumes[mount.Name]
		switch {
		case mount.Name == "":
			c.missing(in.Child("name"), "")
		case !found:
			c.errs = append(c.errs, field.NotFound(in.Child("name"), Clip(mount.Name)))
		case volume.Image != nil:
			c.imageMount(mount, in)
		}
		c.given(in.Child("mountPath"), mount.MountPath)
		if mount.MountPath != "" && paths[mount.MountPath] {
			c.bad(in.Child("mountPath"), mount.MountPath, "must be unique")
		}
		paths[mount.MountPath] = true
		c.localPath(in.Child("subPath"), mount.SubPath)
		c.localPath(in.Child("subPathExpr"), mount.SubPathExpr)
		if mount.SubPath != "" && mount.SubPathExpr != "" {
			c.bad(in.Child("subPathExpr"), mount.SubPathExpr, "must not be given with subPath")
		}
		c.propagation(container, mount, in)
		c.recursiveReadOnly(mount, in.Child("recursiveReadOnly"))
		seen := map[string]bool{}
		for j, option := range mount.BindMountOptions {
			oneOf(c.check, in.Child("bindMountOptions").Index(j), option, "noexec", "nodev", "nosuid")
			c.unique(in.Child("bindMountOptions").Index(j), seen, option)
		}
	}
}

// imageMount refuses what an image's own file tree cannot be mounted with.
func (c mountCheck) imageMount(mount *corev1.VolumeMount, at *field.Path) {
	if len(mount.BindMountOptions) > 0 {
		c.refused(at.Child("bindMountOptions"), "may not be set for an image volume")
	}
}

func (c mountCheck) propagation(container *corev1.Container, mount *corev1.VolumeMount, at *field.Path) {
	path := at.Child("mountPropagation")
	optionalOneOf(c.check, path, mount.MountPropagation,
		corev1.MountPropagationNone, corev1.MountPropagationHostToContainer, corev1.MountPropagationBidirectional)
	if mount.MountPropagation != nil && *mount.MountPropagation == corev1.MountPropagationBidirectional && !privileged(container) {
		c.refused(path, "Bidirectional is available only to privileged containers")
	}
}

func (c mountCheck) recursiveReadOnly(mount *corev1.VolumeMount, at *field.Path) {
	if mount.RecursiveReadOnly == nil {
		return
	}
	oneOf(c.check, at, *mount.RecursiveReadOnly,
		corev1.RecursiveReadOnlyDisabled, corev1.RecursiveReadOnlyIfPossible, corev1.RecursiveReadOnlyEnabled)
	if *mount.RecursiveReadOnly == corev1.RecursiveReadOnlyDisabled {
		return
	}
	if !mount.ReadOnly {
		c.refused(at, "may only be specified when readOnly is true")
	}
	if mount.MountPropagation != nil && *mount.MountPropagation != corev1.MountPropagationNone {
		c.refused(at, "may only be specified when mountPropagation is None or not specified")
	}
}

// devices checks block devices, which take their names and paths from the same
// space as mounts.
func (c mountCheck) devices(container *corev1.Container, at *field.Path) {
	if len(container.VolumeDevices) > 0 && node.HasOwnUsers(c.pod) {
		c.refused(at, "may not be set when hostUsers is false")
	}
	names, paths := map[string]bool{}, map[string]bool{}
	for _, mount := range container.VolumeMounts {
		names[mount.Name], paths[mount.MountPath] = true, true
	}
	for i, device := range container.VolumeDevices {
		in := at.Index(i)
		volume, found := c.volumes[device.Name]
		switch {
		case device.Name == "":
			c.missing(in.Child("name"), "")
		case !found:
			c.errs = append(c.errs, field.NotFound(in.Child("name"), Clip(device.Name)))
		case volume.PersistentVolumeClaim == nil && volume.Ephemeral == nil:
			c.bad(in.Child("name"), device.Name, "must name a persistentVolumeClaim or ephemeral volume")
		}
		c.given(in.Child("devicePath"), device.DevicePath)
		c.noBacksteps(in.Child("devicePath"), device.DevicePath)
		if device.Name != "" {
			c.unique(in.Child("name"), names, device.Name)
		}
		if device.DevicePath != "" {
			c.unique(in.Child("devicePath"), paths, device.DevicePath)
		}
	}
}

func privileged(container *corev1.Container) bool {
	s := container.SecurityContext
	return s != nil && s.Privileged != nil && *s.Privileged
}
