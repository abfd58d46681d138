package server

import (
	"cmp"
	"fmt"
	"slices"

	"google.golang.org/grpc"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/node/store"
)

// WatchPods sends the selected pods, or what changed after a revision, then a
// marker, then every change.
func (s *podService) WatchPods(r *nodev1.WatchPodsRequest, stream grpc.ServerStreamingServer[nodev1.WatchPodsResponse]) error {
	chosen, err := newSelection(r.GetNamespace(), r.GetLabelSelector(), r.GetFieldSelector())
	if err != nil {
		return err
	}
	if r.GetSinceRevision() < 0 {
		return negativeRevision(r.GetSinceRevision())
	}
	w := &podWatch{service: s, render: s.render.of(stream.Context()), chosen: chosen, send: stream.Send, sent: map[node.Key]store.View{}}
	changed := s.store.Changed()
	if r.GetSinceRevision() > 0 {
		err = w.resume(r.GetSinceRevision())
	} else {
		err = w.begin()
	}
	if err != nil {
		return err
	}
	synced := &nodev1.WatchPodsResponse{Type: nodev1.WatchType_WATCH_TYPE_SYNCED, Revision: w.at}
	if err := stream.Send(synced); err != nil {
		return err
	}
	for {
		select {
		case <-changed:
		case <-stream.Context().Done():
			return stream.Context().Err()
		case <-s.stopped:
			return errStopping
		}
		changed = s.store.Changed()
		if err := w.advance(); err != nil {
			return err
		}
	}
}

func negativeRevision(since int64) error {
	return fmt.Errorf("sinceRevision %d: has to be 0 or greater: %w", since, node.ErrInvalid)
}

// podWatch is one client's watch: what it was told, up to which revision.
type podWatch struct {
	service *podService
	render  *renderer
	chosen  selection
	send    func(*nodev1.WatchPodsResponse) error
	sent    map[node.Key]store.View
	at      int64
}

// begin sends the present pods, by revision, so that the revision of each is a
// point to resume from.
func (w *podWatch) begin() error {
	views, revision := w.service.store.Views()
	slices.SortFunc(views, func(a, b store.View) int { return cmp.Compare(a.Revision, b.Revision) })
	for _, v := range views {
		if err := w.tell(v); err != nil {
			return err
		}
	}
	w.at = revision
	return nil
}

// resume takes the pods that have not changed as known to the client, and
// sends the others.
func (w *podWatch) resume(since int64) error {
	views, _ := w.service.store.Views()
	for _, v := range views {
		if v.Revision <= since && w.chosen.matches(v, w.service.phase) {
			w.sent[v.Key] = v
		}
	}
	w.at = since
	changes, revision, err := w.service.store.Since(since)
	if err != nil {
		return err
	}
	for _, v := range changes {
		// Before the resume the client may have been told of it.
		if _, known := w.sent[v.Key]; !known && (v.Gone || !w.chosen.matches(v, w.service.phase)) {
			if !w.chosen.mayHaveMatched(v.Key) {
				continue
			}
			if err := w.tellDeleted(v, v.Revision); err != nil {
				return err
			}
			continue
		}
		if err := w.tell(v); err != nil {
			return err
		}
	}
	w.at = revision
	return nil
}

// advance sends what has changed since the last time.
func (w *podWatch) advance() error {
	changes, revision, err := w.service.store.Since(w.at)
	if err != nil {
		return err
	}
	for _, v := range changes {
		if err := w.tell(v); err != nil {
			return err
		}
	}
	w.at = revision
	return nil
}

// tell sends what a view means to somebody who knows what was sent before.
func (w *podWatch) tell(v store.View) error {
	old, known := w.sent[v.Key]
	matches := !v.Gone && w.chosen.matches(v, w.service.phase)
	replaced := known && old.Slot.Pod.UID() != v.Slot.Pod.UID()
	if known && (replaced || !matches) {
		last, revision := v, v.Revision
		if replaced {
			// Who resumes after this message still has to be told of the new pod.
			last, revision = old, v.Revision-1
		}
		delete(w.sent, v.Key)
		if err := w.tellDeleted(last, revision); err != nil {
			return err
		}
		known = false
	}
	if !matches {
		return nil
	}
	w.sent[v.Key] = v
	kind := nodev1.WatchType_WATCH_TYPE_ADDED
	if known {
		kind = nodev1.WatchType_WATCH_TYPE_MODIFIED
	}
	return w.tellPod(kind, v, v.Revision)
}

func (w *podWatch) tellDeleted(last store.View, revision int64) error {
	return w.tellPod(nodev1.WatchType_WATCH_TYPE_DELETED, last, revision)
}

func (w *podWatch) tellPod(kind nodev1.WatchType, v store.View, revision int64) error {
	pod, err := w.render.pod(v)
	if err != nil {
		return err
	}
	return w.send(&nodev1.WatchPodsResponse{Type: kind, Revision: revision, Pod: pod})
}
