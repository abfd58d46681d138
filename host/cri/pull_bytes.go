package cri

import (
	"context"
	"slices"

	"nodal/node"
)

// CountPulled notes with each pull that has begun how many bytes of its image are there. Only containerd can report
// that: CRI has nothing about a pull under way. CountPulled wraps node.ErrUnsupported if the runtime is not
// containerd.
func (i *Images) CountPulled(ctx context.Context, pulls []node.Pull) error {
	if !slices.ContainsFunc(pulls, func(p node.Pull) bool { return !p.Began.IsZero() }) {
		return nil
	}
	ctx, cancel := i.conn.request(ctx)
	defer cancel()
	if err := i.conn.pulls.Count(ctx, pulls); err != nil {
		return explain(err, "ask how far pulls have come")
	}
	return nil
}
