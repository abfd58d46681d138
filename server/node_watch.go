package server

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/server/wire"
)

// nodeWatchPause bounds a watch to ten messages a second while pods start by the hundred.
const nodeWatchPause = 100 * time.Millisecond

// WatchNode sends the node at first, and again after each change.
func (s *nodeService) WatchNode(
	_ *nodev1.WatchNodeRequest, stream grpc.ServerStreamingServer[nodev1.WatchNodeResponse],
) error {
	ctx := stream.Context()
	var sent *nodev1.GetNodeResponse
	for {
		pods, sources, offers, vitals := s.store.Changed(), s.sources.Changed(), s.offers.Changed(), s.vitals.Changed()
		key, subnets := s.key.Changed(), s.subnets.Changed()
		shutdown, config, cordon := s.shutdown.Changed(), s.config.Changed(), s.cordon.Changed()
		present := s.describe(ctx)
		if state := timeless(present); !proto.Equal(state, sent) {
			if err := stream.Send(&nodev1.WatchNodeResponse{Node: present}); err != nil {
				return err
			}
			sent = state
		}
		if err := s.pause(ctx); err != nil {
			return err
		}
		select {
		case <-pods:
		case <-sources:
		case <-offers:
		case <-vitals:
		case <-key:
		case <-subnets:
		case <-shutdown:
		case <-config:
		case <-cordon:
		case <-ctx.Done():
			return ctx.Err()
		case <-s.stopped:
			return wire.ErrStopping
		}
	}
}

func (s *nodeService) pause(ctx context.Context) error {
	select {
	case <-time.After(nodeWatchPause):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-s.stopped:
		return wire.ErrStopping
	}
}

// timeless returns the node without the fields that differ from read to read.
func timeless(n *nodev1.GetNodeResponse) *nodev1.GetNodeResponse {
	n = proto.CloneOf(n)
	n.Revision = 0
	for _, source := range n.GetSources() {
		source.DeliveredAt = nil
		for _, e := range source.GetErrors() {
			e.Time = nil
		}
	}
	return n
}
