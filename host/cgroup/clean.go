package cgroup

import (
	"context"
	"errors"
)

// Clean ends what is left in the cgroups of a node's pods and removes them all. It serves a
// node whose agent does not run and cannot say whether systemd made them, so it looks in both
// places.
func Clean(ctx context.Context, c Config) error {
	t := newTree(c)
	t.systemd = nil
	err := t.remove(ctx, t.root)
	t.systemd = newSystemd(c.Mounts.Version)
	return errors.Join(err, t.remove(ctx, t.root))
}
