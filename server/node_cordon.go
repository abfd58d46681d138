package server

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/protobuf/types/known/timestamppb"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/node/store"
)

// longestReason bounds what an admin writes about a cordon, in bytes.
const longestReason = 256

// Cordon has the node take no new pods of the API.
func (s *nodeService) Cordon(_ context.Context, r *nodev1.CordonRequest) (*nodev1.CordonResponse, error) {
	if n := len(r.GetReason()); n > longestReason {
		return nil, fmt.Errorf("reason: it has %d bytes, and may have %d: %w", n, longestReason, node.ErrInvalid)
	}
	ofCluster := func(of store.SourceState) bool { return of.Source == node.SourceCluster }
	if slices.ContainsFunc(s.sources.List(), ofCluster) {
		return nil, fmt.Errorf("cordon: the node belongs to a cluster, which chooses its pods; use kubectl cordon there: %w", node.ErrConflict)
	}
	var set node.Cordon
	// A pod that is being taken has seen the node open. A drain that sees the cordon, its own or that of another, lists the
	// pods next, and has to find it.
	err := s.store.Try(func(*store.Tx) (err error) {
		set, err = s.cordon.Set(r.GetReason())
		return err
	})
	if err != nil {
		return nil, err
	}
	return &nodev1.CordonResponse{Cordon: showCordon(set)}, nil
}

// Uncordon has the node take new pods again.
func (s *nodeService) Uncordon(context.Context, *nodev1.UncordonRequest) (*nodev1.UncordonResponse, error) {
	return &nodev1.UncordonResponse{}, s.cordon.Lift()
}

// showCordon returns nil while the node takes pods.
func showCordon(of node.Cordon) *nodev1.CordonState {
	if !of.Closed() {
		return nil
	}
	return &nodev1.CordonState{SinceAt: timestamppb.New(of.Since), Reason: of.Reason}
}
