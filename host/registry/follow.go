package registry

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"
)

// followEvery bounds the delay of the owner's changes. Renewed certificates and added mirrors
// bear that.
const followEvery = 5 * time.Second

// Hosts keeps the runtime's directory of registries up to date with the user's, with the
// mirror added.
type Hosts struct {
	User, Effective string
	Direct          string // a directory like Effective that does not lead to the mirror; empty for none
	Mirror          Mirror

	seen  string // the fingerprint of the user's directory at the last write
	fault string // of that write; empty if there was none
}

// Write lays the runtime's directory out.
func (h *Hosts) Write() error {
	h.seen, h.fault = fingerprint(h.User), "" // before it is read: what changes meanwhile is seen later
	err := WriteHosts(h.User, h.Effective, h.Mirror)
	if h.Direct != "" {
		if direct := WriteHosts(h.User, h.Direct, Mirror{}); err == nil {
			err = direct
		} // else the other has the same faults
	}
	if err != nil {
		h.fault = err.Error()
	}
	return err
}

// Follow writes again whenever the owner's directory has changed, and after a fault, until the context ends. It reports
// results that are new. Without the mirror's present address, imported images could not be pulled: a disk that was full at
// the start may have room later.
func (h *Hosts) Follow(ctx context.Context, tell func(error)) {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		changed, before := fingerprint(h.User) != h.seen, h.fault
		if !changed && before == "" {
			continue
		}
		if err := h.Write(); changed || h.fault != before {
			tell(err)
		}
	}
}

// fingerprint returns a text that differs once any file below a directory has changed. It
// leaves out unreadable files: their reader reports them.
func fingerprint(dir string) string {
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
