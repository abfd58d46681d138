package lowmem

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// Notices are the kernel's notices of memory that runs short. Its methods may be called from any goroutine.
type Notices struct {
	wakes chan struct{}

	mu    sync.Mutex
	armed map[string]*os.File // thresholds, by the directory of their cgroup
	after func()              // called when a threshold is crossed
	ended bool
}

// New makes notices of which none has come.
func New() *Notices {
	n := &Notices{wakes: make(chan struct{}, 1), armed: map[string]*os.File{}}
	n.after = n.wake
	return n
}

// Wakes returns the channel that each notice is sent to. Notices that come together are one.
func (n *Notices) Wakes() <-chan struct{} { return n.wakes }

func (n *Notices) wake() {
	select {
	case n.wakes <- struct{}{}:
	default: // one is on its way
	}
}

// Run watches for tasks that wait for memory, until the context ends. files are pressure files of the kernel: that of
// the machine, or of a cgroup. It ends the thresholds too.
func (n *Notices) Run(ctx context.Context, files ...string) error {
	defer n.disarm()
	errs := make(chan error, len(files))
	for _, file := range files {
		go func() { errs <- watchPSI(ctx, file, n.wake) }()
	}
	var first error
	for range files {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	<-ctx.Done()
	return first
}

// Arm asks for a notice once the memory of a cgroup has grown by a number of bytes. dir is the cgroup's directory in
// version 1. A later call for the same cgroup takes the place of the former.
func (n *Notices) Arm(dir string, more int64) error {
	event, err := threshold(filepath.Clean(dir), more)
	if err != nil {
		return fmt.Errorf("ask for a notice of cgroup %s: %w", dir, err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if before := n.armed[dir]; before != nil {
		_ = before.Close() // it ends the goroutine that reads it
	}
	if n.ended {
		return event.Close()
	}
	n.armed[dir] = event
	go awaitEvent(event, n.after)
	return nil
}

func (n *Notices) disarm() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ended = true
	for _, event := range n.armed {
		_ = event.Close() // it was only read
	}
}
