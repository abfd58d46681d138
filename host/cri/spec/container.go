package spec

import (
	"maps"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Container translates a run of a container.
func (n Node) Container(run Run, env *Variables, extras Extras) (*runtimeapi.ContainerConfig, error) {
	c := run.Container
	own, err := containerAnnotations(run)
	if err != nil {
		return nil, err
	}
	annotations := maps.Clone(extras.Annotations)
	if annotations == nil {
		annotations = own
	} else {
		maps.Copy(annotations, own)
	}
	security, err := n.containerSecurity(run)
	if err != nil {
		return nil, err
	}
	signal, err := stopSignal(c)
	if err != nil {
		return nil, err
	}
	return &runtimeapi.ContainerConfig{
		Metadata:    &runtimeapi.ContainerMetadata{Name: c.Name, Attempt: run.Attempt},
		Image:       &runtimeapi.ImageSpec{Image: run.Image, UserSpecifiedImage: c.Image},
		Command:     env.expandAll(c.Command),
		Args:        env.expandAll(c.Args),
		WorkingDir:  c.WorkingDir,
		Envs:        env.over(extras.Env),
		Mounts:      mapped(extras.Mounts, run.Pod.Users),
		Devices:     extras.Devices,
		CDIDevices:  extras.cdiDevices(),
		Labels:      containerLabels(run.Allocated, c.Name),
		Annotations: annotations,
		LogPath:     LogPath(c.Name, run.Attempt),
		Stdin:       c.Stdin,
		StdinOnce:   c.StdinOnce,
		Tty:         c.TTY,
		StopSignal:  signal,
		Linux: &runtimeapi.LinuxContainerConfig{
			Resources:       n.Machine.resources(run),
			SecurityContext: security,
		},
	}, nil
}
