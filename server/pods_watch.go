package server

import (
	"google.golang.org/grpc"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node/store"
)

// WatchPods sends the selected pods, or what changed after a revision, then a
// marker, then every change.
func (s *podService) WatchPods(
	r *nodev1.WatchPodsRequest, stream grpc.ServerStreamingServer[nodev1.WatchPodsResponse],
) error {
	chosen, err := newSelection(stream.Context(), r.GetNamespace(), r.GetLabelSelector(), r.GetFieldSelector(), podFields)
	if err != nil {
		return err
	}
	render := s.render.of(stream.Context())
	return follow(stream.Context(), subject[store.View]{
		present: func() ([]item[store.View], int64) {
			views, revision := s.store.Views()
			return podItems(views), revision
		},
		since: func(revision int64) ([]item[store.View], int64, error) {
			views, now, err := s.store.Since(revision)
			return podItems(views), now, err
		},
		matches: func(v store.View) bool { return chosen.matches(v, s.phase) },
		mayHave: chosen.mayHaveMatched,
		changed: s.store.Changed,
		send: func(kind nodev1.WatchType, v *store.View, revision int64) error {
			message := &nodev1.WatchPodsResponse{Type: kind, Revision: revision}
			if v != nil {
				var err error
				if message.Pod, err = render.pod(*v); err != nil {
					return err
				}
			}
			return stream.Send(message)
		},
	}, r.GetSinceRevision(), s.stopped)
}

func podItems(views []store.View) []item[store.View] {
	items := make([]item[store.View], len(views))
	for i, v := range views {
		items[i] = item[store.View]{ref: podRef(v.Key), uid: v.Slot.Pod.UID(), revision: v.Revision, gone: v.Gone, state: v}
	}
	return items
}
