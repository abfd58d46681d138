package logs

import (
	"fmt"
	"io"
	"time"

	"nodal/node"
)

// Stream says which output of a container is meant.
type Stream uint8

// The streams a reader can ask for. An entry is always one of the last two.
const (
	AllStreams Stream = iota
	Stdout
	Stderr
)

// Options select what Read prints. The zero value prints the whole log once.
type Options struct {
	Tail       *int64    // only the last so many lines
	LimitBytes *int64    // stop after so many bytes of output, even within a line
	Since      time.Time // only entries that are not older; startSince says what a clock set back does
	Timestamps bool      // put its time and a blank before each line
	Stream     Stream

	// Follow goes on with what is written later, until Exited is closed and
	// the log is read to its end. With a nil Exited only the context ends it.
	Follow bool
	Exited <-chan struct{}
}

func (o *Options) check() error {
	if o.Tail != nil && *o.Tail < 0 {
		return fmt.Errorf("tail of %d lines: %w", *o.Tail, node.ErrInvalid)
	}
	if o.LimitBytes != nil && *o.LimitBytes < 0 {
		return fmt.Errorf("limit of %d bytes: %w", *o.LimitBytes, node.ErrInvalid)
	}
	return nil
}

// Sink takes the output. Read writes large batches that end anywhere and must
// not be kept; it calls Flush when no more is at hand, before it waits and
// before it returns. A *bufio.Writer is a Sink.
type Sink interface {
	io.Writer
	Flush() error
}
