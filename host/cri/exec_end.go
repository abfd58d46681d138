package cri

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"nodal/host/cri/containerd"
)

const (
	startWait  = time.Minute     // for the process of a command, from when it is asked for: a machine may be slow
	otherWait  = 5 * time.Second // the same once another process has started, which may be the command by another name
	hangUpWait = 3 * time.Second // for a process to end by itself when its client is gone
)

// commands tells which process a command is, and ends it. CRI does neither: a command whose client goes away runs on.
type commands interface {
	Commands(ctx context.Context, container string) (next func() (containerd.Command, error), err error)
	Signal(ctx context.Context, container, command string, signal syscall.Signal) error
}

// execution is a command whose process may have to be ended.
type execution struct {
	container string
	found     chan containerd.Command // once it is known; closed if it will not be
	stop      func()                  // ends the search
}

// watchStart looks for the process that is about to run a command. One command of a container is looked for at a
// time, so that another with the same words is not taken for it. It has to be called before the command is asked for.
func (s *Streams) watchStart(ctx context.Context, container string, cmd []string) *execution {
	e := &execution{container: container, found: make(chan containerd.Command, 1)}
	done, ok := s.turns.wait(ctx, container, startWait)
	if !ok {
		close(e.found)
		e.stop = func() {}
		return e
	}
	search, cancel := context.WithTimeout(context.WithoutCancel(ctx), startWait)
	e.stop = cancel
	next, err := s.conn.commands.Commands(search, container)
	go func() {
		defer close(e.found)
		defer cancel()
		defer done()
		for err == nil {
			var c containerd.Command
			if c, err = next(); err != nil {
				return
			}
			if runs(search, c.Pid, cmd) {
				e.found <- c
				return
			}
			time.AfterFunc(otherWait, cancel)
		}
	}()
	return e
}

// end ends the process of a command and the others in its process group. It sends SIGHUP, as when a terminal is closed,
// and SIGKILL after hangUpWait.
func (s *Streams) end(e *execution) {
	found, ok := <-e.found
	if !ok {
		s.log.Info("a command runs on without its client: its process was not found", "container", e.container)
		return
	}
	s.signal(e.container, found, syscall.SIGHUP)
	time.AfterFunc(hangUpWait, func() { s.signal(e.container, found, syscall.SIGKILL) })
}

// signal sends a signal to a command's process and to the others in its process group.
func (s *Streams) signal(container string, c containerd.Command, signal syscall.Signal) {
	call, cancel := s.conn.request(context.Background())
	defer cancel()
	if err := s.conn.commands.Signal(call, container, c.ID, signal); err != nil {
		s.log.Warn("cannot end a command whose client is gone", "container", container, "signal", signal, "err", err)
	}
	s.signalGroup(c.Pid, signal)
}

// signalGroup sends a signal to the processes of a group. Runc has every command lead one. Its number stays taken while
// one of them is left.
func signalGroup(leader uint32, signal syscall.Signal) {
	_ = syscall.Kill(-int(leader), signal) // they may all have ended
}

// runs reports whether a process runs a command, or is about to.
func runs(ctx context.Context, pid uint32, cmd []string) bool {
	for {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil {
			return false // it has ended
		}
		yes, early := isCommand(text, cmd)
		if yes || !early {
			return yes
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// isCommand compares a process's command line with a command, in front of which a script's process has its
// interpreter. Early is a process that is still runc, or that is just becoming the command: then it has no line.
func isCommand(line []byte, cmd []string) (yes, early bool) {
	if len(line) == 0 {
		return false, true
	}
	args := strings.Split(string(bytes.TrimSuffix(line, []byte{0})), "\x00")
	yes = len(args) >= len(cmd) && slices.Equal(args[len(args)-len(cmd):], cmd)
	return yes, !yes && len(args) == 2 && args[1] == "init"
}

// turns lets one at a time do something with a container.
type turns struct {
	mu    sync.Mutex
	taken map[string]chan struct{} // closed when the turn is over
}

// wait returns when it is the caller's turn, which lasts until done is called. It is not ok if that takes too long.
func (t *turns) wait(ctx context.Context, container string, most time.Duration) (done func(), ok bool) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	for {
		t.mu.Lock()
		busy := t.taken[container]
		if busy == nil {
			mine := make(chan struct{})
			if t.taken == nil {
				t.taken = map[string]chan struct{}{}
			}
			t.taken[container] = mine
			t.mu.Unlock()
			return func() {
				t.mu.Lock()
				defer t.mu.Unlock()
				delete(t.taken, container)
				close(mine)
			}, true
		}
		t.mu.Unlock()
		select {
		case <-busy:
		case <-timer.C:
			return nil, false
		case <-ctx.Done():
			return nil, false
		}
	}
}
