package cri

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"nodal/host/cri/containerd"
)

// fakeCommands are told of commands by the test, and note signals.
type fakeCommands struct {
	started chan containerd.Command
	mu      sync.Mutex
	signals []string
}

func (f *fakeCommands) Commands(ctx context.Context, _ string) (func() (containerd.Command, error), error) {
	return func() (containerd.Command, error) {
		select {
		case c, ok := <-f.started:
			if !ok {
				return c, io.EOF
			}
			return c, nil
		case <-ctx.Done():
			return containerd.Command{}, ctx.Err()
		}
	}, nil
}

func (f *fakeCommands) Signal(_ context.Context, container, command string, s syscall.Signal) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.signals = append(f.signals, container+" "+command+" "+s.String())
	return errors.New("it is not killed so easily")
}

func newCommands() (*Streams, *fakeCommands) {
	fake := &fakeCommands{started: make(chan containerd.Command)}
	return &Streams{
		conn: &Conn{commands: fake, timeout: time.Minute}, log: slog.New(slog.DiscardHandler),
		signalGroup: func(leader uint32, s syscall.Signal) {
			fake.signals = append(fake.signals, fmt.Sprint("group ", leader == uint32(os.Getpid()), " ", s))
		},
	}, fake
}

// self is this process, as one that runs a command.
func self(t *testing.T) (pid uint32, cmd []string) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	return uint32(os.Getpid()), strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
}

func TestProcessOfACommandThatLostItsClientIsEnded(t *testing.T) {
	pid, cmd := self(t)
	synctest.Test(t, func(t *testing.T) {
		r, fake := newCommands()
		process := r.watchStart(t.Context(), "web", cmd)
		fake.started <- containerd.Command{ID: "probe", Pid: 1} // another command that starts meanwhile
		fake.started <- containerd.Command{ID: "ours", Pid: pid}
		r.end(process)
		hungUp := []string{"web ours hangup", "group true hangup"}
		for _, after := range []struct {
			pause time.Duration
			want  []string
		}{
			{hangUpWait - 1, hungUp},
			{1, append(hungUp, "web ours killed", "group true killed")},
		} {
			time.Sleep(after.pause)
			synctest.Wait()
			if !slices.Equal(fake.signals, after.want) {
				t.Errorf("got signals %q, want %q", fake.signals, after.want)
			}
		}
	})
}

func TestProcessThatStartsSlowlyIsEnded(t *testing.T) {
	pid, cmd := self(t)
	synctest.Test(t, func(t *testing.T) {
		r, fake := newCommands()
		process := r.watchStart(t.Context(), "web", cmd)
		time.Sleep(startWait - 1)
		fake.started <- containerd.Command{ID: "ours", Pid: pid}
		r.end(process)
		if len(fake.signals) == 0 || fake.signals[0] != "web ours hangup" {
			t.Errorf("got signals %q, want a hangup", fake.signals)
		}
	})
}

func TestProcessThatIsNotFoundIsNotEnded(t *testing.T) {
	_, cmd := self(t)
	for name, c := range map[string]struct {
		tell func(*fakeCommands)
		wait time.Duration
	}{
		"none starts": {func(*fakeCommands) {}, startWait},
		"no events":   {func(f *fakeCommands) { close(f.started) }, 0},
		"only others start": {func(f *fakeCommands) {
			f.started <- containerd.Command{ID: "probe", Pid: 1}
			time.Sleep(otherWait / 2)
			f.started <- containerd.Command{ID: "probe again", Pid: 1}
		}, otherWait},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, fake := newCommands()
				began := time.Now()
				process := r.watchStart(t.Context(), "web", cmd)
				c.tell(fake)
				r.end(process)
				if took := time.Since(began); took != c.wait {
					t.Errorf("it was looked for during %s, want %s", took, c.wait)
				}
				if len(fake.signals) > 0 {
					t.Errorf("got signals %q, want none", fake.signals)
				}
			})
		})
	}
}

func TestCommandsOfAContainerAreLookedForOneAtATime(t *testing.T) {
	pid, cmd := self(t)
	synctest.Test(t, func(t *testing.T) {
		r, fake := newCommands()
		first := r.watchStart(t.Context(), "web", cmd)
		r.watchStart(t.Context(), "db", cmd).stop() // of another container, it does not wait
		begun := make(chan *execution, 1)
		go func() { begun <- r.watchStart(t.Context(), "web", cmd) }()
		synctest.Wait()
		if len(begun) > 0 {
			t.Fatal("two commands with the same words are looked for at once")
		}
		fake.started <- containerd.Command{ID: "one", Pid: pid}
		second := <-begun
		fake.started <- containerd.Command{ID: "two", Pid: pid}
		if a, b := <-first.found, <-second.found; a.ID != "one" || b.ID != "two" {
			t.Errorf("found %q and %q, want one and two", a.ID, b.ID)
		}
	})
}

func TestProcessIsKnownByItsCommandLine(t *testing.T) {
	for _, c := range []struct {
		name, line string
		yes, early bool
	}{
		{"the command", "sh\x00-c\x00ls", true, false},
		{"a script and its interpreter", "/bin/sh\x00sh\x00-c\x00ls", true, false},
		{"the runtime's program", "runc\x00init\x00", false, true},
		{"a process that becomes another", "", false, true},
		{"another command", "sh\x00-c\x00ps\x00", false, false},
		{"a part of it", "ls\x00", false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if yes, early := isCommand([]byte(c.line), []string{"sh", "-c", "ls"}); yes != c.yes || early != c.early {
				t.Errorf("got %t, %t, want %t, %t", yes, early, c.yes, c.early)
			}
		})
	}
}
