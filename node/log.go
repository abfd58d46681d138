package node

import (
	"io"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// LogRun names the log of one run of a container.
type LogRun struct {
	Key       Key
	UID       types.UID
	Container string
	Attempt   uint32
	Path      string // of the log file; empty if it was not observed
	ID        string // of the container
	Kept      bool   // of what the node has set apart, although its pod may be back under the same UID
}

// LogFile is one file with output of a run. A log that is rotated has several.
type LogFile struct {
	Run     LogRun // without Path and ID
	Path    string
	Bytes   int64     // on the disk
	Written time.Time // for the last time
	Rotated bool      // a newer file follows it
	Packed  bool
}

// LogOptions select the part of a log that is read. The zero value reads the whole log once.
type LogOptions struct {
	Tail       *int64    // only the last lines
	LimitBytes *int64    // stop after so many bytes of output, even within a line
	Since      time.Time // only entries that are not older
	Timestamps bool      // put its time and a blank before each line
	Stream     LogStream

	// Follow goes on with later output, until Exited is closed and the log is read to its end. With a nil
	// Exited only the context ends it.
	Follow bool
	Exited <-chan struct{} // closed when the run is over
}

// LogStream is one of a container's outputs, or all of them.
type LogStream uint8

const (
	LogAll LogStream = iota
	LogStdout
	LogStderr
)

// LogSink takes a log in large batches, which end anywhere and must not be kept. The reader calls Flush once
// when the log is open, and when no more is at hand, before it waits and before it returns. A *bufio.Writer is a LogSink.
type LogSink interface {
	io.Writer
	Flush() error
}
