package volume

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/node"
)

// Mounts returns the mounts of a container, and first mounts each subPath on the host. The pod's
// volumes must be laid out, and ChooseMounts must have resolved subPathExpr and recursiveReadOnly.
// An image volume is named by its id, because a runtime may not find it under the pod's name for it.
func (t *Tree) Mounts(pod *node.Pod, c *corev1.Container, images map[string]string) ([]*runtimeapi.Mount, error) {
	var mounts []*runtimeapi.Mount
	for i := range c.VolumeMounts {
		mount, err := t.mount(pod.Object, c, i, images)
		if err != nil {
			return nil, fmt.Errorf("mount volume %q: %w", c.VolumeMounts[i].Name, err)
		}
		mounts = append(mounts, mount)
	}
	return mounts, nil
}

func (t *Tree) mount(pod *corev1.Pod, c *corev1.Container, index int, images map[string]string) (*runtimeapi.Mount, error) {
	m := &c.VolumeMounts[index]
	at, kind, err := t.find(pod, m.Name)
	if err != nil {
		return nil, err
	}
	if image := at.volume.Image; image != nil {
		return &runtimeapi.Mount{
			ContainerPath: path.Join("/", m.MountPath), Readonly: true, ImageSubPath: m.SubPath,
			Image: &runtimeapi.ImageSpec{Image: cmp.Or(images[m.Name], image.Reference), UserSpecifiedImage: image.Reference},
		}, nil
	}
	source := at.dir
	if at.volume.HostPath != nil {
		source = at.volume.HostPath.Path
	}
	if m.SubPath != "" {
		dir, err := t.home(pod.UID)
		if err != nil {
			return nil, err
		}
		part := part{
			volume: source, path: m.SubPath, fixed: kind.content,
			target: path.Join(dir, subPathsDir, m.Name, c.Name, fmt.Sprint(index)),
		}
		if err := t.mountPart(kind, part); err != nil {
			return nil, fmt.Errorf("subPath %q: %w", m.SubPath, err)
		}
		source = part.target
	}
	return &runtimeapi.Mount{
		ContainerPath:     path.Join("/", m.MountPath),
		HostPath:          source,
		Readonly:          m.ReadOnly || at.readOnly || kind.content, // a container must not write the node's own files
		RecursiveReadOnly: m.RecursiveReadOnly != nil && *m.RecursiveReadOnly != corev1.RecursiveReadOnlyDisabled,
		SelinuxRelabel:    at.volume.HostPath == nil,
		Propagation:       propagation(m.MountPropagation),
	}, nil
}

// mountPart mounts a part of a volume. It has a time limit if the volume is on a server, which may not answer.
func (t *Tree) mountPart(of kind, p part) error {
	if !of.remote {
		return p.mount()
	}
	return t.inTime(context.Background(), p.target, func(context.Context) error { return p.mount() })
}

func propagation(mode *corev1.MountPropagationMode) runtimeapi.MountPropagation {
	switch {
	case mode == nil:
	case *mode == corev1.MountPropagationHostToContainer:
		return runtimeapi.MountPropagation_PROPAGATION_HOST_TO_CONTAINER
	case *mode == corev1.MountPropagationBidirectional:
		return runtimeapi.MountPropagation_PROPAGATION_BIDIRECTIONAL
	}
	return runtimeapi.MountPropagation_PROPAGATION_PRIVATE
}

// mountPoints returns the directories in a volume on which containers mount other volumes. They have to exist in a
// volume that containers only read.
func mountPoints(pod *corev1.Pod, volume string) []string {
	var points []string
	for c := range node.EveryContainer(&pod.Spec) {
		points = append(points, mountPointsFor(c.VolumeMounts, volume)...)
	}
	slices.Sort(points)
	return slices.Compact(points)
}

func mountPointsFor(mounts []corev1.VolumeMount, volume string) []string {
	var points []string
	for _, outer := range mounts {
		if outer.Name != volume || outer.SubPath != "" || outer.SubPathExpr != "" {
			continue
		}
		for _, inner := range mounts {
			below, ok := strings.CutPrefix(path.Join("/", inner.MountPath), strings.TrimSuffix(path.Join("/", outer.MountPath), "/")+"/")
			if ok && !strings.HasPrefix(below, "..") {
				points = append(points, below)
			}
		}
	}
	return points
}
