package audit

import (
	"context"
	"fmt"
	"slices"

	"nodal/node"
	"nodal/node/audit"
)

// Newest returns the newest entries that match, oldest first, and the position after them.
func (l *Log) Newest(ctx context.Context, f audit.Filter, limit int) (entries []audit.Entry, next uint64, err error) {
	next, err = l.cfg.File.Backward(func(line []byte) bool {
		e, ok := audit.Parse(line)
		if ok && f.Matches(e) {
			entries = append(entries, e)
		}
		// Entries stand in the order in which they were written, which is nearly that of their times.
		past := ok && !f.Since.IsZero() && e.Time.Before(f.Since.Add(-audit.FloodWindow))
		return len(entries) < limit && !past && ctx.Err() == nil
	})
	if err == nil {
		err = ctx.Err()
	}
	slices.Reverse(entries)
	return entries, next, err
}

// Follow calls send with each entry after a position that matches, until the context ends or send fails.
func (l *Log) Follow(ctx context.Context, f audit.Filter, at uint64, send func(audit.Entry) error) error {
	for {
		changed := l.cfg.File.Changed()
		lines, next, all := l.cfg.File.After(at)
		if !all {
			return fmt.Errorf("follow the audit log: entries came faster than they were read; begin again: %w",
				node.ErrCompacted)
		}
		for _, line := range lines {
			if e, ok := audit.Parse(line); ok && f.Matches(e) {
				if err := send(e); err != nil {
					return err
				}
			}
		}
		at = next
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
