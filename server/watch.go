package server

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/server/wire"
)

// item is one state of a pod or an object that a watch may send.
type item[V any] struct {
	ref      node.ObjectRef // names a pod, too
	uid      types.UID
	revision int64
	gone     bool
	state    V
}

// subject reads from the store the items that a watch is about.
type subject[V any] struct {
	present func() ([]item[V], int64)
	since   func(revision int64) ([]item[V], int64, error)
	matches func(V) bool              // whether the item is selected now
	mayHave func(node.ObjectRef) bool // whether it may ever have been, by its name
	changed func() <-chan struct{}
	// send sends one message. The synced marker has no state.
	send func(kind nodev1.WatchType, state *V, revision int64) error
}

// watch is the state of one client's watch: what was sent, up to which revision.
type watch[V any] struct {
	subject[V]
	sent map[node.ObjectRef]item[V]
	at   int64
}

// follow sends the selected items, or what changed after a revision, then a marker, then
// every change, until the context ends or the server stops.
func follow[V any](ctx context.Context, about subject[V], since int64, stopped <-chan struct{}) error {
	if since < 0 {
		return negativeRevision(since)
	}
	w := &watch[V]{subject: about, sent: map[node.ObjectRef]item[V]{}}
	changed := w.changed()
	begin := w.begin
	if since > 0 {
		begin = func() error { return w.resume(since) }
	}
	if err := begin(); err != nil {
		return err
	}
	if err := w.send(nodev1.WatchType_WATCH_TYPE_SYNCED, nil, w.at); err != nil {
		return err
	}
	for {
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-stopped:
			return wire.ErrStopping
		}
		changed = w.changed()
		if err := w.advance(); err != nil {
			return err
		}
	}
}

func negativeRevision(since int64) error {
	return fmt.Errorf("sinceRevision %d: must be at least 0: %w", since, node.ErrInvalid)
}

// begin sends the present items, by revision, so that the revision of each is a
// point to resume from.
func (w *watch[V]) begin() error {
	items, revision := w.present()
	slices.SortFunc(items, func(a, b item[V]) int { return cmp.Compare(a.revision, b.revision) })
	for _, i := range items {
		if err := w.report(i); err != nil {
			return err
		}
	}
	w.at = revision
	return nil
}

// resume counts the items that have not changed since a revision as sent, and sends the
// others.
func (w *watch[V]) resume(since int64) error {
	items, _ := w.present()
	for _, i := range items {
		if i.revision <= since && w.matches(i.state) {
			w.sent[i.ref] = i
		}
	}
	w.at = since
	changes, revision, err := w.since(since)
	if err != nil {
		return err
	}
	for _, i := range changes {
		// The client may know the item from before it resumed.
		if _, known := w.sent[i.ref]; !known && (i.gone || !w.matches(i.state)) {
			if !w.mayHave(i.ref) {
				continue
			}
			if err := w.reportDeleted(i, i.revision); err != nil {
				return err
			}
			continue
		}
		if err := w.report(i); err != nil {
			return err
		}
	}
	w.at = revision
	return nil
}

// advance sends the changes since the last time.
func (w *watch[V]) advance() error {
	changes, revision, err := w.since(w.at)
	if err != nil {
		return err
	}
	for _, i := range changes {
		if err := w.report(i); err != nil {
			return err
		}
	}
	w.at = revision
	return nil
}

// report sends what a state changes for a client that has all that was sent before.
func (w *watch[V]) report(i item[V]) error {
	old, known := w.sent[i.ref]
	matches := !i.gone && w.matches(i.state)
	replaced := known && old.uid != i.uid
	if known && (replaced || !matches) {
		last, revision := i, i.revision
		if replaced {
			// A client that resumes after this message still has to get the new one.
			last, revision = old, i.revision-1
		}
		delete(w.sent, i.ref)
		if err := w.reportDeleted(last, revision); err != nil {
			return err
		}
		known = false
	}
	if !matches {
		return nil
	}
	w.sent[i.ref] = i
	kind := nodev1.WatchType_WATCH_TYPE_ADDED
	if known {
		kind = nodev1.WatchType_WATCH_TYPE_MODIFIED
	}
	return w.send(kind, &i.state, i.revision)
}

func (w *watch[V]) reportDeleted(last item[V], revision int64) error {
	return w.send(nodev1.WatchType_WATCH_TYPE_DELETED, &last.state, revision)
}
