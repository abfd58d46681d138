package server

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/types/known/timestamppb"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/node/store"
)

// was shows a pod as it was at a revision. The caller sees as much of it as of a present pod.
func (s *podService) was(ctx context.Context, key node.Key, at int64) (*nodev1.GetPodResponse, error) {
	if at < 0 {
		return nil, fmt.Errorf("at=%d: must be at least 0: %w", at, node.ErrInvalid)
	}
	if now := s.store.Revision(); at > now {
		return nil, fmt.Errorf("at=%d: the node is at revision %d; ask for that or an earlier one: %w", at, now, node.ErrInvalid)
	}
	if s.past == nil {
		return nil, fmt.Errorf("pod %s at revision %d: it is not recorded how pods were; give --pod-history-size a size above 0: %w",
			key, at, node.ErrUnsupported)
	}
	state, err := s.past(key, at)
	switch {
	case err != nil:
		return nil, err
	case state == nil:
		return nil, fmt.Errorf("pod %s at revision %d: there was none: %w", key, at, node.ErrNotFound)
	case state.Gone:
		return nil, fmt.Errorf("pod %s at revision %d: it was gone since revision %d: %w", key, at, state.Revision, node.ErrNotFound)
	}
	pod, err := s.render.of(ctx).pod(store.View{Key: key, Slot: state.Slot(), Revision: state.Revision})
	if err != nil {
		return nil, err
	}
	return &nodev1.GetPodResponse{Pod: pod, Since: timestamppb.New(state.At)}, nil
}
