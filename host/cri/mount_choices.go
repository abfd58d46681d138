package cri

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/node"
)

var errRecursiveReadOnly = errors.New("recursive read-only mounts are not supported on this node: the runtime does not announce them")

// mountsFor are what a container gets mounted.
func (r *Runtime) mountsFor(ctx context.Context, pod *node.Pod, in containerInput) ([]*runtimeapi.Mount, error) {
	chosen, err := r.withMountsChosen(ctx, in.spec, in.env)
	if err != nil {
		return nil, err
	}
	return r.config.Mounts(Run{
		Pod: pod, Container: chosen, Attempt: in.attempt, Name: nameOf(in.pod, r.config.DNS.Domain), IPs: in.podIPs, VolumeImages: in.volumes,
	})
}

// withMountsChosen is a container with what its mounts leave open decided: a
// subPathExpr by the container's environment, and recursiveReadOnly by what the
// runtime can.
func (r *Runtime) withMountsChosen(ctx context.Context, c *corev1.Container, env *variables) (*corev1.Container, error) {
	if !slices.ContainsFunc(c.VolumeMounts, isOpen) {
		return c, nil
	}
	recursive := false
	if slices.ContainsFunc(c.VolumeMounts, asksRecursion) {
		status, err := r.Status(ctx)
		if err != nil {
			return nil, err
		}
		recursive = status.Features.RecursiveReadOnlyMounts
	}
	chosen := *c
	chosen.VolumeMounts = slices.Clone(c.VolumeMounts)
	for i := range chosen.VolumeMounts {
		mount := &chosen.VolumeMounts[i]
		if err := choose(mount, env, recursive); err != nil {
			return nil, fmt.Errorf("volumeMounts[%d] %q: %w", i, mount.Name, err)
		}
	}
	return &chosen, nil
}

func isOpen(m corev1.VolumeMount) bool { return m.SubPathExpr != "" || asksRecursion(m) }

func asksRecursion(m corev1.VolumeMount) bool {
	return m.RecursiveReadOnly != nil && *m.RecursiveReadOnly != corev1.RecursiveReadOnlyDisabled
}

func choose(m *corev1.VolumeMount, env *variables, recursive bool) error {
	if asksRecursion(*m) && !recursive {
		if *m.RecursiveReadOnly == corev1.RecursiveReadOnlyEnabled {
			return errRecursiveReadOnly
		}
		m.RecursiveReadOnly = nil
	}
	if m.SubPathExpr == "" {
		return nil
	}
	expanded, err := env.expandKnown(m.SubPathExpr)
	if err != nil {
		return fmt.Errorf("subPathExpr %q: %w", m.SubPathExpr, err)
	}
	// What the variables hold was not looked at when the pod was taken.
	if path.IsAbs(expanded) || slices.Contains(strings.Split(expanded, "/"), "..") {
		return fmt.Errorf("subPathExpr %q is %q, which is no path below the volume: %w", m.SubPathExpr, expanded, node.ErrInvalid)
	}
	m.SubPath, m.SubPathExpr = expanded, ""
	return nil
}

// withImages says of a container that it mounts images. A runtime that cannot do
// that announces nothing; it fails, for the want of a path.
func withImages(mounts []*runtimeapi.Mount) string {
	if !slices.ContainsFunc(mounts, func(m *runtimeapi.Mount) bool { return m.GetImage() != nil }) {
		return ""
	}
	return " with an image as a volume, which not every runtime can mount"
}
