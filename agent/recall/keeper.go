// Package recall has the node remember how its pods were at each revision.
//
//	node/store.Followed ──▶ every tenth of a second ──▶ node/past.Writer ──▶ host/pastfile
//	                                                                              │
//	a question about a pod and a revision ◀── node/past.Read ◀────────────────────┘
//
// A file is complete from its beginning on: it begins with all pods. A file that is full is followed by another, and the
// one before the last goes. A state that could not be written would be missing in the middle, so that after a failure the
// record starts over.
//
// Start reading at Keeper.Run.
package recall

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"nodal/host/pastfile"
	"nodal/node"
	"nodal/node/past"
	"nodal/node/status"
	"nodal/node/store"
)

const (
	// every holds states back, so that several are written together. An agent that is killed loses those of this time.
	every = time.Second / 10
	// most bounds the states that wait for a slow disk.
	most = 10_000
)

// Config holds the parts of a keeper.
type Config struct {
	Dir      string
	MaxBytes int64 // of both files, unless the pods that are there take more than a quarter of it
	Store    *store.Store
	Site     node.Site
	Report   func(node.Event)
	Clock    func() time.Time
	Log      *slog.Logger
}

// Keeper records the states of pods, and answers questions about them.
type Keeper struct {
	Config

	mu      sync.Mutex
	changes *store.Followed
	file    *pastfile.Log
	writer  *past.Writer // nil if the record has to be begun
	since   int64        // the revision up to which the states are in the file
	base    int64        // bytes of the states that the file begins with
	failing bool         // so that a failure is told once
}

// New makes a keeper that records nothing yet.
func New(c Config) *Keeper { return &Keeper{Config: c, file: pastfile.New(c.Dir)} }

// Run records until the context ends. It has to begin after the first looks: until then, running pods seem not to be.
func (k *Keeper) Run(ctx context.Context) {
	defer k.close()
	for {
		changed := k.Store.Changed()
		k.mu.Lock()
		k.keep()
		k.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(every):
		case <-ctx.Done():
			return
		}
	}
}

func (k *Keeper) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.keep()
	k.file.Close()
}

// keep writes what has changed.
func (k *Keeper) keep() {
	err := k.write()
	if err != nil {
		k.writer = nil // what comes next would have a gap before it
	}
	switch {
	case err != nil && !k.failing:
		k.Log.Warn("how pods were is not recorded", "err", err)
		k.Report(node.Event{
			Time: k.Clock(), Warning: true, Reason: "PodsNotRecorded",
			Message: fmt.Sprintf("how pods were is not recorded until the disk takes it, and starts over then: %v", err),
		})
	case err == nil && k.failing:
		k.Log.Info("how pods were is recorded again")
	}
	k.failing = err != nil
}

func (k *Keeper) write() error {
	if k.changes == nil {
		k.changes = k.Store.Follow(most)
		return k.resume()
	}
	views, lost := k.changes.Take()
	if k.writer == nil || lost {
		return k.startOver()
	}
	if err := k.add(views); err != nil {
		return err
	}
	if k.file.Size() <= max(k.MaxBytes/2, 2*k.base) {
		return nil
	}
	present, revision := k.Store.Views()
	views, lost = k.changes.Take() // those up to that revision belong to the old file
	if lost {
		return k.startOver()
	}
	old := 0
	for old < len(views) && views[old].Revision <= revision {
		old++
	}
	if err := k.add(views[:old]); err != nil {
		return err
	}
	if err := k.begin(present, revision); err != nil {
		return err
	}
	return k.add(views[old:])
}

// add appends the states that are not in the file yet.
func (k *Keeper) add(views []store.View) error {
	if len(views) == 0 {
		return nil
	}
	var text []byte
	for _, v := range views {
		if v.Revision <= k.since {
			continue
		}
		var err error
		if text, err = k.writer.Append(text, k.state(v)); err != nil {
			return err
		}
		k.since = v.Revision
	}
	k.writer.Rest()
	if len(text) == 0 {
		return nil
	}
	return k.file.Append(text)
}

func (k *Keeper) state(v store.View) *past.State {
	return &past.State{
		Revision: v.Revision, At: k.Clock(), Key: v.Key, Gone: v.Gone, Pod: v.Slot.Pod, Status: status.Of(k.Site, v.Slot, v.Got),
	}
}

// begin begins a file with all pods.
func (k *Keeper) begin(present []store.View, revision int64) error {
	writer, text := past.NewWriter(revision, k.Clock().UnixMilli())
	for _, v := range present {
		var err error
		if text, err = writer.Append(text, k.state(v)); err != nil {
			return err
		}
	}
	writer.Rest()
	if err := k.file.Begin(text); err != nil {
		return err
	}
	k.writer, k.since, k.base = writer, revision, int64(len(text))
	return nil
}

// startOver drops a record that has a gap, and begins another.
func (k *Keeper) startOver() error {
	if err := k.file.Drop(); err != nil {
		return err
	}
	present, revision := k.Store.Views()
	return k.begin(present, revision)
}

// resume goes on with the file of the agent before. Pods that have gone without a word are gone from now on.
func (k *Keeper) resume() error {
	present, revision := k.Store.Views()
	var found *past.File
	if err := k.file.Resume(func(text []byte) (int, error) {
		var err error
		found, err = past.Read(text, past.Everything, nil)
		return found.Good, err
	}); err != nil {
		k.Log.Debug("there is no record of pods to go on with", "err", err)
		return k.startOver()
	}
	k.writer, k.base = past.ResumeWriter(found.Manifests), 0
	there := map[node.Key]bool{}
	for _, v := range present {
		there[v.Key] = true
	}
	var text []byte
	for _, key := range found.Present() {
		if there[key] {
			continue
		}
		last, err := found.State(key)
		if err != nil {
			return k.startOver()
		}
		last.Revision, last.At, last.Gone = revision, k.Clock(), true
		if text, err = k.writer.Append(text, last); err != nil {
			return err
		}
	}
	for _, v := range present {
		var err error
		if text, err = k.writer.Append(text, k.state(v)); err != nil {
			return err
		}
	}
	k.writer.Rest()
	k.since, k.base = revision, int64(len(text))
	return k.file.Append(text)
}

// Was returns a pod as it was at a revision: gone, or nil if there was none of that name.
func (k *Keeper) Was(key node.Key, at int64) (*past.State, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.changes != nil {
		k.keep()
	}
	texts, err := k.file.Texts()
	if err != nil {
		return nil, err
	}
	oldest := k.Store.Revision()
	for _, text := range texts {
		f, err := past.Read(text, at, &key)
		if err != nil {
			return nil, fmt.Errorf("read the record of pods: %w", err)
		}
		if f.Revision <= at {
			return f.State(key)
		}
		oldest = f.Revision
	}
	return nil, fmt.Errorf("pod %s at revision %d: what is kept begins at revision %d; ask for that or a later one: %w",
		key, at, oldest, node.ErrCompacted)
}
