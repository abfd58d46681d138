package cgroup

import (
	"context"
	"errors"
	"slices"
)

// Clean ends the processes in the cgroups of a node's pods and removes the cgroups. The node's agent does not run,
// and so cannot say whether systemd made them: Clean looks in both places.
func Clean(ctx context.Context, c Config) error {
	t := newTree(c)
	t.systemd = nil
	err := t.remove(ctx, t.root)
	t.systemd = newSystemd(c.Mounts.Version)
	return errors.Join(err, t.remove(ctx, t.root))
}

// Left lists the cgroups that Clean would remove with all below them.
func Left(c Config) []string {
	top := newTree(c).root
	return slices.Concat(c.Mounts.dirs(top.files()), c.Mounts.dirs(top.slices()))
}
