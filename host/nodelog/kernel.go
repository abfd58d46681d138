package nodelog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// longestRecord bounds a record of the kernel's log. Its own are at most 8 KiB.
const longestRecord = 16 << 10

// stampLayout begins the lines of the kernel's log. Its times have microseconds.
const stampLayout = "2006-01-02T15:04:05.000000Z07:00"

// copyKernel writes the kernel's log from the device at path, and calls ended at its end. With follow it goes on until
// the context ends. started is when the machine was started.
func copyKernel(ctx context.Context, path string, started time.Time, follow bool, w io.Writer, ended func() error) error {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0) // without blocking, so that closing it ends a read
	if err != nil {
		return fmt.Errorf("open the kernel's log: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { f.Close() })
	defer stop()
	defer f.Close()
	if err := copyRecords(ctx, past{f}, started, w); err != nil {
		return err
	}
	if err := ended(); err != nil || !follow {
		return err
	}
	return copyRecords(ctx, f, started, w)
}

// copyRecords writes each record as a line, until there are no more.
func copyRecords(ctx context.Context, log io.Reader, started time.Time, w io.Writer) error {
	buffer := make([]byte, longestRecord)
	for {
		n, err := log.Read(buffer)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, unix.EPIPE): // it was overwritten; the next read goes on with the oldest that is kept
			continue
		case err != nil:
			return fmt.Errorf("read the kernel's log: %w", err)
		}
		if line, ok := kernelLine(string(buffer[:n]), started); ok {
			if _, err := io.WriteString(w, line); err != nil {
				return err
			}
		}
	}
}

// past reads what the device holds now, and then its end.
type past struct{ *os.File }

func (p past) Read(buffer []byte) (n int, err error) {
	raw, err := p.SyscallConn()
	if err != nil {
		return 0, err
	}
	var failed error
	err = raw.Read(func(fd uintptr) bool {
		n, failed = unix.Read(int(fd), buffer)
		return true
	})
	switch {
	case err != nil:
		return 0, err
	case failed == unix.EAGAIN, failed == nil && n == 0: // a device, or a file in its place
		return 0, io.EOF
	}
	return max(n, 0), failed
}

// kernelLine returns a record as a line. A record has fields before its text: level and writer, sequence, time since the
// start and flags. The kernel writes the bytes that do not print as \x0a.
//
//	6,113889,25601190417,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null)
func kernelLine(record string, started time.Time) (string, bool) {
	head, body, ok := strings.Cut(record, ";")
	fields := strings.Split(head, ",")
	if !ok || len(fields) < 4 {
		return "", false
	}
	priority, err := strconv.ParseUint(fields[0], 10, 32)
	micros, err2 := strconv.ParseInt(fields[2], 10, 64)
	if err != nil || err2 != nil {
		return "", false
	}
	writer := "kernel"
	if priority >= 8 { // the kernel's own messages have the facility zero
		writer = "user"
	}
	text, _, _ := strings.Cut(body, "\n")
	at := started.Add(time.Duration(micros) * time.Microsecond)
	return at.UTC().Format(stampLayout) + " " + writer + ": " + text + "\n", true
}

// kernelStamp returns the time of a line that kernelLine has made.
func kernelStamp(line []byte) (time.Time, bool) {
	word, _, _ := strings.Cut(string(line[:min(len(line), 40)]), " ")
	at, err := time.Parse(stampLayout, word)
	return at, err == nil
}

// machineStart returns when the clock of the kernel's log began.
func machineStart(now time.Time) time.Time {
	var since unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &since) != nil {
		return now // which is wrong, and happens on no machine
	}
	return now.Add(-time.Duration(since.Nano()))
}
