package oom

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nodal/node"
)

// spool is a log of which each read returns one record or one error. Once it is empty a read waits until it is closed.
type spool struct {
	records []any
	closed  chan struct{}
	once    sync.Once
}

func (s *spool) Read(to []byte) (int, error) {
	if len(s.records) == 0 {
		<-s.closed
		return 0, fs.ErrClosed
	}
	next := s.records[0]
	s.records = s.records[1:]
	if err, ok := next.(error); ok {
		return 0, err
	}
	return copy(to, next.(string)), nil
}

func (s *spool) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

func killed(sequence, pid int) string {
	return fmt.Sprintf("3,%d,1,-;Memory cgroup out of memory: Killed process %d (tail) total-vm:1kB", sequence, pid)
}

func TestWatchTellsKillsUntilItsContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	file := &spool{closed: make(chan struct{}), records: []any{killed(5, 1), "12,6,1,-;Killed process 2 (forged) total-vm:1kB", killed(7, 3)}}
	var pids []int
	err := (&Log{file, func(int) string { return "" }}).Watch(ctx, func(k node.Kill) {
		if pids = append(pids, k.PID); len(pids) == 2 {
			cancel()
		}
	}, func(uint64) { t.Error("nothing was lost") })
	if err != nil || !slices.Equal(pids, []int{1, 3}) {
		t.Errorf("told %v, %v, want 1 and 3, and the end of the context without an error", pids, err)
	}
	select {
	case <-file.closed:
	default:
		t.Error("the log is still open")
	}
}

func TestOverwrittenMessagesAreCounted(t *testing.T) {
	broken := errors.New("broken")
	overrun := &os.PathError{Op: "read", Path: Path, Err: unix.EPIPE}
	var lost []uint64
	var kills []node.Kill
	err := (&Log{&spool{closed: make(chan struct{}), records: []any{
		overrun, killed(5, 1), "6,6,1,-;oom-kill:constraint=A,oom_memcg=/old,task_memcg=/old,task=tail,pid=2,uid=0",
		overrun, overrun, killed(17, 2), broken,
	}}, func(int) string { return "/now" }}).Watch(t.Context(), func(k node.Kill) { kills = append(kills, k) },
		func(messages uint64) { lost = append(lost, messages) })
	if !errors.Is(err, broken) {
		t.Errorf("got %v, want the failure of the read", err)
	}
	if !slices.Equal(lost, []uint64{0, 10}) {
		t.Errorf("lost %v, want an unknown number, and then 10", lost)
	}
	if len(kills) != 2 || kills[1].Cgroup != "/now" {
		t.Errorf("told %+v, want the second kill without what was said before the gap", kills)
	}
}

func TestALogThatCannotBeReadIsNamed(t *testing.T) {
	if _, err := Open(filepath.Join(t.TempDir(), "kmsg"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want that there is none", err)
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if log, err := Open(pipe, nil); err == nil {
		log.file.Close()
		t.Error("a file that has no end to go to was opened")
	}
}

// The kernel's log has records already. Those that come are read, and the wait for more ends with the context.
func TestTheKernelsLogIsReadFromItsEnd(t *testing.T) {
	log, err := Open(Path, func(int) string { return "" })
	if err != nil {
		t.Skipf("the kernel's log cannot be read here: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := log.Watch(ctx, func(node.Kill) {}, func(uint64) { t.Error("messages from before were read, and are lost") }); err != nil {
		t.Errorf("got %v, want the watch to end with its context", err)
	}
}
