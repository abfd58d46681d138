// Package cordon keeps in a file whether the node takes new pods, so that a cordon lasts over restarts of the agent.
//
// Start reading at Keeper.Set.
package cordon

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"nodal/host/replace"
	"nodal/node"
)

// Keeper owns the cordon of the node. Its methods may be called from any goroutine.
type Keeper struct {
	file   string
	report func(node.Event)
	clock  func() time.Time

	change  sync.Mutex // held while the file changes
	mu      sync.RWMutex
	state   node.Cordon
	changed node.Bell
}

// Open reads the cordon of the last agent. A node with a damaged file stays cordoned: its admin may not want pods on it.
// Neither report nor clock may wait for a transaction of the store, as Set may be called in one.
func Open(file string, report func(node.Event), clock func() time.Time) (*Keeper, error) {
	k := &Keeper{file: file, report: report, clock: clock}
	text, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return k, nil
	case err != nil:
		return nil, fmt.Errorf("read whether the node is cordoned: %w", err)
	}
	if err := json.Unmarshal(text, &k.state); err != nil || !k.state.Closed() {
		k.state = node.Cordon{Since: clock(), Reason: "the record of an earlier cordon, " + file + ", is damaged"}
	}
	return k, nil
}

// State returns the present cordon.
func (k *Keeper) State() node.Cordon {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.state
}

// Changed returns a channel that is closed when the cordon differs.
func (k *Keeper) Changed() <-chan struct{} { return k.changed.Heard() }

// Set cordons the node. A node that is cordoned already keeps its time, and takes the reason.
func (k *Keeper) Set(reason string) (node.Cordon, error) {
	k.change.Lock()
	defer k.change.Unlock()
	before := k.State()
	next := node.Cordon{Since: before.Since, Reason: reason}
	if !before.Closed() {
		next.Since = k.clock()
	}
	text, err := json.Marshal(next)
	if err == nil {
		err = replace.File(k.file, append(text, '\n'), 0o644)
	}
	if err != nil {
		return before, fmt.Errorf("cordon the node: %w", err)
	}
	k.put(next)
	if !before.Closed() {
		message := "the node takes no new pods"
		if reason != "" {
			message += ": " + reason
		}
		k.report(node.Event{Time: next.Since, Reason: node.NotSchedulable, Message: message})
	}
	return next, nil
}

// Lift has the node take new pods again.
func (k *Keeper) Lift() error {
	k.change.Lock()
	defer k.change.Unlock()
	if !k.State().Closed() {
		return nil
	}
	err := os.Remove(k.file)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = replace.SyncDir(filepath.Dir(k.file)) // or the file is back after a loss of power
	}
	if err != nil {
		return fmt.Errorf("uncordon the node: %w", err)
	}
	k.put(node.Cordon{})
	k.report(node.Event{Time: k.clock(), Reason: node.Schedulable, Message: "the node takes new pods again"})
	return nil
}

func (k *Keeper) put(c node.Cordon) {
	k.mu.Lock()
	k.state = c
	k.mu.Unlock()
	k.changed.Ring()
}
