package oom

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"nodal/node"
)

// Path names the file in which the kernel shows its log.
const Path = "/dev/kmsg"

// longest bounds a record. The kernel's own are at most 8 KiB.
const longest = 16 << 10

// Log is the kernel's log, from the moment at which it was opened.
type Log struct {
	file io.ReadCloser
	// where returns the cgroup of a process, or "" if it is gone.
	where func(pid int) string
}

// Open opens the log at its end. It fails without the right to read it, as in a user namespace.
func Open(path string, where func(pid int) string) (*Log, error) {
	// Without blocking, so that closing it ends a read.
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open the kernel's log: %w", err)
	}
	if _, err := file.Seek(0, io.SeekEnd); err != nil {
		file.Close()
		return nil, fmt.Errorf("go to the end of the kernel's log: %w", err)
	}
	return &Log{file, where}, nil
}

// Watch tells each kill until the context ends, and closes the log then. It calls lost if the kernel has overwritten
// messages that were not read yet, with their number, or zero if that is not known.
func (l *Log) Watch(ctx context.Context, tell func(node.Kill), lost func(messages uint64)) error {
	stop := context.AfterFunc(ctx, func() { l.file.Close() })
	defer stop()
	defer l.file.Close()
	buffer := make([]byte, longest)
	about, place := report{where: l.where}, place{}
	for {
		n, err := l.file.Read(buffer)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, unix.EPIPE): // the next read goes on with the oldest message that is kept
			about, place.overrun = report{where: l.where}, true
			continue
		case err != nil:
			return fmt.Errorf("read the kernel's log: %w", err)
		}
		r, ok := parseRecord(string(buffer[:n]))
		if !ok {
			continue
		}
		if missed, overrun := place.at(r.sequence); overrun {
			lost(missed)
		}
		if kill, ok := about.take(r); ok {
			tell(kill)
		}
	}
}

// place remembers how far the log was read.
type place struct {
	next    uint64 // the sequence of the next message; zero if none was read yet
	overrun bool   // messages were overwritten since the last one
}

// at goes on to a message. It reports an overrun before it, and how many messages that has cost.
func (p *place) at(sequence uint64) (missed uint64, overrun bool) {
	if p.overrun && p.next != 0 && sequence > p.next {
		missed = sequence - p.next
	}
	overrun = p.overrun
	p.next, p.overrun = sequence+1, false
	return missed, overrun
}
