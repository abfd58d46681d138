package kube

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
)

// watch sends this node, and again after each change. Not every change of a node has a revision of its own, so a watch
// that goes on from a revision begins with the present node, too.
func (n nodes) watch(ctx context.Context, of selection, since int64, each func(change) error) error {
	byLabel, byField, err := selectors(of)
	if err != nil {
		return err
	}
	stream, err := n.node.WatchNode(ctx, &nodev1.WatchNodeRequest{})
	if err != nil {
		return err
	}
	begun, known := false, since > 0
	return received(stream, func(m *nodev1.WatchNodeResponse) error {
		this, err := shownNode(m.GetNode())
		if err != nil {
			return err
		}
		revision := m.GetNode().GetRevision()
		if since > revision {
			return fmt.Errorf("resourceVersion %d: the node is at %d: %w", since, revision, node.ErrCompacted)
		}
		chosen := byLabel.Matches(labels.Set(this.GetLabels())) && byField.Matches(fields.Set{"metadata.name": this.GetName()})
		kind, tell := step(known, chosen)
		known = chosen
		if tell {
			if err := each(change{kind, revision, this}); err != nil {
				return err
			}
		}
		if begun {
			return nil
		}
		begun = true
		return each(change{nodev1.WatchType_WATCH_TYPE_SYNCED, revision, nil})
	})
}

// step says what a client hears of an object that it knows or not, and that is chosen or not any more.
func step(known, chosen bool) (kind nodev1.WatchType, tell bool) {
	switch {
	case known && chosen:
		return nodev1.WatchType_WATCH_TYPE_MODIFIED, true
	case chosen:
		return nodev1.WatchType_WATCH_TYPE_ADDED, true
	}
	return nodev1.WatchType_WATCH_TYPE_DELETED, known
}
