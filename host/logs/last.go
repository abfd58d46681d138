package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"nodal/node"
)

// Last returns the last lines of a run's log, but no more than the last most bytes of them. It returns "" for a
// missing log.
func Last(ctx context.Context, run node.LogRun, lines int64, most int) (string, error) {
	end := &lastBytes{most: most}
	err := read(ctx, run.Path, run.ID, node.LogOptions{Tail: &lines}, end)
	if err != nil && !errors.Is(err, node.ErrNotFound) {
		return "", fmt.Errorf("read the end of a log: %w", err)
	}
	// A cut may have gone through a character.
	return string(bytes.ToValidUTF8(end.kept, []byte("\uFFFD"))), nil
}

// lastBytes is a node.LogSink that keeps the end of what it is given.
type lastBytes struct {
	kept []byte
	most int
}

var _ node.LogSink = (*lastBytes)(nil)

func (l *lastBytes) Write(p []byte) (int, error) {
	l.kept = append(l.kept, p[max(0, len(p)-l.most):]...)
	l.kept = l.kept[max(0, len(l.kept)-l.most):]
	return len(p), nil
}

func (l *lastBytes) Flush() error { return nil }
