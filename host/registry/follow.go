package registry

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"
)

// followEvery is how long a change of the user's may wait. Certificates that are
// renewed and mirrors that are added bear that.
const followEvery = 5 * time.Second

// Hosts keeps the runtime's directory of registries like the user's.
type Hosts struct {
	User, Effective string
	Mirror          Mirror

	seen string // the state that was written last
}

// Write lays the runtime's directory out.
func (h *Hosts) Write() error {
	h.seen = state(h.User) // before it is read: what changes meanwhile is seen later
	return WriteHosts(h.User, h.Effective, h.Mirror)
}

// Follow writes again whenever the user's directory has changed, until the context
// ends, and tells how that went.
func (h *Hosts) Follow(ctx context.Context, tell func(error)) {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if state(h.User) != h.seen {
			tell(h.Write())
		}
	}
}

// state changes with every file of a directory. What cannot be looked at has no
// part in it: to say so is for who reads it.
func state(dir string) string {
	var b strings.Builder
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := d.Info(); err == nil {
			fmt.Fprintf(&b, "%q %d %d %v\n", path, info.Size(), info.ModTime().UnixNano(), info.Mode())
		}
		return nil
	})
	return b.String()
}
