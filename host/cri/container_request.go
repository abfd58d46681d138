package cri

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/host/cri/spec"
	"nodal/node"
)

// request translates a container. It asks the runtime for the facts that the translation depends on.
func (c containers) request(
	ctx context.Context, pod *node.Pod, got *node.Observed, a node.CreateContainer,
) (*runtimeapi.CreateContainerRequest, error) {
	here := c.Node()
	run, err := here.Run(pod, a)
	if err != nil {
		return nil, err
	}
	sandbox, err := c.sandboxFor(ctx, pod, got, a.SandboxID)
	if err != nil {
		return nil, err
	}
	if run.IPs = sandbox.IPs; pod.Object.Spec.HostNetwork {
		run.IPs = here.Machine.IPs
	}
	if got != nil {
		run.VolumeImages = got.VolumeImages()
	}
	if run.ImageUser, err = c.imageUserFor(ctx, run); err != nil {
		return nil, err
	}
	config, err := c.config(ctx, here, run)
	if err != nil {
		return nil, err
	}
	sandboxConfig, _, err := c.sandboxes.config(here, pod, sandbox.Attempt)
	if err != nil {
		return nil, err
	}
	return &runtimeapi.CreateContainerRequest{
		PodSandboxId: a.SandboxID, Config: config, SandboxConfig: sandboxConfig,
	}, nil
}

func (c containers) config(
	ctx context.Context, here spec.Node, run spec.Run,
) (*runtimeapi.ContainerConfig, error) {
	env, err := here.Environment(run, c.Objects, c.Files)
	if err != nil {
		return nil, err
	}
	if run.Container, err = c.withMountsChosen(ctx, run.Container, env); err != nil {
		return nil, err
	}
	extras, err := spec.Collect(run, c.Extras)
	if err != nil {
		return nil, err
	}
	return here.Container(run, env, extras)
}

// sandboxFor finds the sandbox of a container, with the addresses for the container's /etc/hosts.
func (c containers) sandboxFor(
	ctx context.Context, pod *node.Pod, got *node.Observed, id string,
) (node.Sandbox, error) {
	sandbox, known := knownSandbox(got, id)
	if known && (sandbox.Inspected || pod.Object.Spec.HostNetwork) {
		return sandbox, nil
	}
	inspected, err := c.sandboxes.status(ctx, id)
	if err != nil {
		return node.Sandbox{}, fmt.Errorf("inspect sandbox %s: %w", id, answer{err})
	}
	return *inspected, nil
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

// imageUserFor asks for the user that the image names, if the translation needs it.
func (c containers) imageUserFor(ctx context.Context, run spec.Run) (*spec.ImageUser, error) {
	if !run.NeedsImageUser() {
		return nil, nil
	}
	image, err := c.images.status(ctx, run.Image)
	if err != nil {
		return nil, fmt.Errorf("inspect image %s: %w", run.Image, answer{err})
	}
	if image == nil {
		return nil, fmt.Errorf("inspect image %s: %w", run.Image, node.ErrNotFound)
	}
	// An image that names no user runs as root.
	return &spec.ImageUser{UID: image.GetUid().GetValue(), Name: image.GetUsername()}, nil
}

// withMountsChosen settles the choices that a container's mounts leave open. It asks for the runtime's features only if
// a mount depends on them.
func (c containers) withMountsChosen(
	ctx context.Context, of *corev1.Container, env *spec.Variables,
) (*corev1.Container, error) {
	recursive := false
	if spec.AsksRecursion(of) {
		status, err := c.health.Status(ctx)
		if err != nil {
			return nil, err
		}
		recursive = status.Features.RecursiveReadOnlyMounts
	}
	return spec.ChooseMounts(of, env, recursive)
}

// withImages explains the failure of a container that mounts images. A runtime that cannot mount them does not say so,
// and fails because of a missing path.
func withImages(mounts []*runtimeapi.Mount) string {
	if !slices.ContainsFunc(mounts, func(m *runtimeapi.Mount) bool { return m.GetImage() != nil }) {
		return ""
	}
	return " with an image as a volume, which not every runtime can mount"
}
