package spec

import (
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// AsksRecursion reports whether the translation of a container depends on whether the runtime can make mounts
// recursively read-only.
func AsksRecursion(c *corev1.Container) bool {
	return slices.ContainsFunc(c.VolumeMounts, asksRecursion)
}

func asksRecursion(m corev1.VolumeMount) bool {
	return m.RecursiveReadOnly != nil && *m.RecursiveReadOnly != corev1.RecursiveReadOnlyDisabled
}

// ChooseMounts returns the container with the open choices of its mounts settled: a subPathExpr by the container's
// environment, and recursiveReadOnly by the runtime's feature.
func ChooseMounts(c *corev1.Container, env *Variables, recursive bool) (*corev1.Container, error) {
	if !slices.ContainsFunc(c.VolumeMounts, isOpen) {
		return c, nil
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

func choose(m *corev1.VolumeMount, env *Variables, recursive bool) error {
	if asksRecursion(*m) && !recursive {
		if *m.RecursiveReadOnly == corev1.RecursiveReadOnlyEnabled {
			return fmt.Errorf("failed to resolve recursive read-only mode: volume %q requested recursive read-only mode, but it is not supported by the runtime", m.Name)
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
	// Admission could not check the values of the variables.
	if path.IsAbs(expanded) || slices.Contains(strings.Split(expanded, "/"), "..") {
		return fmt.Errorf("subPathExpr %q is %q, which is no path below the volume: %w",
			m.SubPathExpr, expanded, node.ErrInvalid)
	}
	m.SubPath, m.SubPathExpr = expanded, ""
	return nil
}
