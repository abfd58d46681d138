package server

import (
	"google.golang.org/grpc"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
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
	pods := allPods(s.store)
	pods.matches = func(v store.View) bool { return chosen.matches(v, s.phase) }
	pods.mayHave = chosen.mayHaveMatched
	pods.send = func(kind nodev1.WatchType, v *store.View, revision int64) error {
		message := &nodev1.WatchPodsResponse{Type: kind, Revision: revision}
		if v != nil {
			var err error
			if message.Pod, err = render.pod(*v); err != nil {
				return err
			}
		}
		return stream.Send(message)
	}
	return follow(stream.Context(), pods, r.GetSinceRevision(), s.stopped)
}

// allPods is the subject of a watch of every pod, which has yet to be told how to send one.
func allPods(s *store.Store) subject[store.View] {
	return subject[store.View]{
		present: func() ([]item[store.View], int64) {
			views, revision := s.Views()
			return podItems(views), revision
		},
		since: func(revision int64) ([]item[store.View], int64, error) {
			views, now, err := s.Since(revision)
			return podItems(views), now, err
		},
		matches: func(store.View) bool { return true },
		mayHave: func(node.ObjectRef) bool { return true },
		changed: s.Changed,
	}
}

func podItems(views []store.View) []item[store.View] {
	items := make([]item[store.View], len(views))
	for i, v := range views {
		items[i] = item[store.View]{ref: podRef(v.Key), uid: v.Slot.Pod.UID(), revision: v.Revision, gone: v.Gone, state: v}
	}
	return items
}
