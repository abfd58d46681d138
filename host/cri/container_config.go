package cri

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/node"
	"nodal/node/limit"
	"nodal/node/users"
)

// containerInput is all that one container's configuration is made from.
type containerInput struct {
	pod     *corev1.Pod
	users   *users.Range // of the host, that the pod's own stand for
	spec    *corev1.Container
	attempt uint32
	limits  limit.Limits
	image   string            // id
	volumes map[string]string // ids of the images that are volumes, by volume
	joins   string            // id of the container whose processes it sees
	podIPs  []string
	user    *imageUser // nil: nobody has to know
	env     *variables
	mounts  []*runtimeapi.Mount
	devices []*runtimeapi.Device
}

// imageUser is whom an image wants to run as, by number or else by name.
type imageUser struct {
	uid  int64
	name string
}

// containerConfig is what the runtime gets to know of a container.
func containerConfig(config Config, in containerInput) (*runtimeapi.ContainerConfig, error) {
	c, env := in.spec, in.env
	annotations, err := containerAnnotations(in.pod, c, in.attempt, config.Hash(c))
	if err != nil {
		return nil, err
	}
	security, err := containerSecurity(config, in)
	if err != nil {
		return nil, err
	}
	security.NamespaceOptions.UsernsOptions = userNamespace(in.users)
	signal, err := stopSignal(c)
	if err != nil {
		return nil, err
	}
	return &runtimeapi.ContainerConfig{
		Metadata:    &runtimeapi.ContainerMetadata{Name: c.Name, Attempt: in.attempt},
		Image:       &runtimeapi.ImageSpec{Image: in.image, UserSpecifiedImage: c.Image},
		Command:     env.expandAll(c.Command),
		Args:        env.expandAll(c.Args),
		WorkingDir:  c.WorkingDir,
		Envs:        env.list(),
		Mounts:      mapped(in.mounts, in.users),
		Devices:     in.devices,
		Labels:      containerLabels(in.pod, c.Name),
		Annotations: annotations,
		LogPath:     containerLog(c.Name, in.attempt),
		Stdin:       c.Stdin,
		StdinOnce:   c.StdinOnce,
		Tty:         c.TTY,
		StopSignal:  signal,
		Linux: &runtimeapi.LinuxContainerConfig{
			Resources:       linuxResources(in.pod, c, in.limits, config.Machine),
			SecurityContext: security,
		},
	}, nil
}

// sandboxFor finds the sandbox that a container goes into, with its addresses:
// they are in its /etc/hosts.
func (r *Runtime) sandboxFor(
	ctx context.Context, in containerInput, got *node.Observed, id string,
) (node.Sandbox, error) {
	sandbox, known := knownSandbox(got, id)
	if !known || !sandbox.Inspected && !in.pod.Spec.HostNetwork {
		inspected, err := r.sandboxStatus(ctx, id)
		if err != nil {
			return node.Sandbox{}, fmt.Errorf("inspect sandbox %s: %w", id, answer{err})
		}
		sandbox = *inspected
	}
	if in.pod.Spec.HostNetwork {
		sandbox.IPs = r.config.Machine.IPs
	}
	return sandbox, nil
}

func knownSandbox(got *node.Observed, id string) (node.Sandbox, bool) {
	if got == nil {
		return node.Sandbox{}, false
	}
	i := slices.IndexFunc(got.Sandboxes, func(s node.Sandbox) bool { return s.ID == id })
	if i < 0 {
		return node.Sandbox{}, false
	}
	return got.Sandboxes[i], true
}

// imageUserFor asks whom the image wants to run as, where that matters.
func (r *Runtime) imageUserFor(ctx context.Context, in containerInput) (*imageUser, error) {
	if !needsImageUser(in.pod, in.spec) {
		return nil, nil
	}
	image, err := r.imageStatus(ctx, in.image)
	if err != nil {
		return nil, fmt.Errorf("inspect image %s: %w", in.image, answer{err})
	}
	if image == nil {
		return nil, fmt.Errorf("inspect image %s: %w", in.image, node.ErrNotFound)
	}
	// An image that names nobody runs as root.
	return &imageUser{uid: image.GetUid().GetValue(), name: image.GetUsername()}, nil
}
