package state

import (
	"context"
	"log/slog"
	"time"

	"nodal/host/eventfile"
	"nodal/node"
	"nodal/node/store"
)

// keepEvery holds events back, so that several are written together. An agent that is killed loses those of this time.
const keepEvery = time.Second / 10

// keptEvents writes the store's events to a file, from one goroutine at a time.
type keptEvents struct {
	events  *store.Events
	file    *eventfile.File
	until   int64 // the revision up to which they are in the file
	failing bool  // so that a failure is told once
	log     *slog.Logger
}

// load restores the events of the agent before. Without them the agent starts all the same.
func (k *keptEvents) load(path string, events *store.Events, log *slog.Logger) {
	k.events, k.file, k.log = events, eventfile.New(path), log
	kept, err := k.file.Load()
	if err != nil {
		log.Warn("some events of earlier agents are lost", "err", err)
	}
	events.Restore(kept, time.Now())
	k.until = events.Began()
}

// KeepEvents writes events a moment after they happen, until the context ends.
func (s *State) KeepEvents(ctx context.Context) {
	for {
		changed := s.Events.Changed()
		s.kept.write()
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(keepEvery):
		case <-ctx.Done():
			return
		}
	}
}

// write appends the events that are not in the file yet. What fails is tried again after the next change.
func (k *keptEvents) write() {
	added, now, err := k.events.Since(k.until, func(*node.Event) bool { return true })
	switch {
	case err != nil || k.file.Full() && len(added) > 0: // some were dropped before they were written, or many are outdated
		var all store.KeptEvents
		all, now = k.events.Kept()
		err = k.file.Replace(all)
	case len(added) > 0:
		err = k.file.Append(added)
	}
	if err != nil && !k.failing {
		k.log.Warn("events are not kept for the next agent", "err", err)
	}
	if k.failing = err != nil; !k.failing {
		k.until = now
	}
}

// close writes the last events, and that there are no others.
func (k *keptEvents) close() {
	k.write()
	if kept, _ := k.events.Kept(); !k.failing && !k.file.Full() {
		if err := k.file.Mark(kept.Compacted, true); err != nil {
			k.log.Warn("cannot say at the end of the events that they are whole", "err", err)
		}
	}
	k.file.Close()
}
