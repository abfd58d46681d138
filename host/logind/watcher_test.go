package logind

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nodal/test/fakelogind"
)

// told is a machine that writes down what it is told.
type told struct {
	words chan string
	ended chan struct{}
}

func (m told) GoDown(string) <-chan struct{} {
	m.words <- "down"
	return m.ended
}

func (m told) StayUp() { m.words <- "up" }

func (m told) hears(t *testing.T, want string) {
	t.Helper()
	select {
	case got := <-m.words:
		if got != want {
			t.Fatalf("the machine is told %q, want %q", got, want)
		}
	case <-time.After(20 * time.Second):
		t.Fatalf("the machine is not told %q", want)
	}
}

// watch runs a watcher until the test ends.
func watch(t *testing.T, c Config) told {
	t.Helper()
	m := told{make(chan string, 10), make(chan struct{})}
	c.Machine, c.Log, c.Pause = m, slog.New(slog.DiscardHandler), 10*time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		New(c).Run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-done })
	return m
}

func TestTheLockIsHeldUntilThePodsHaveEnded(t *testing.T) {
	l := fakelogind.Start(t, time.Hour)
	m := watch(t, Config{Bus: l.Address, Delay: time.Minute, DropIns: l.DropIns})
	l.Taken(t)
	m.hears(t, "up")
	l.Announce(t, true)
	m.hears(t, "down")
	if !l.Held() {
		t.Error("the lock was let go before the pods have ended")
	}
	close(m.ended)
	l.Released(t, 20*time.Second)
	if files, _ := filepath.Glob(filepath.Join(l.DropIns, "*")); len(files) > 0 {
		t.Errorf("logind waits long enough, and %v was written", files)
	}
}

func TestAShutdownThatIsCalledOffTakesTheLockAgain(t *testing.T) {
	l := fakelogind.Start(t, time.Hour)
	m := watch(t, Config{Bus: l.Address, DropIns: l.DropIns})
	l.Taken(t)
	m.hears(t, "up")
	l.Announce(t, true)
	m.hears(t, "down")
	l.Announce(t, false)
	m.hears(t, "up")
	l.Taken(t)
	if !l.Held() {
		t.Error("no lock is held")
	}
}

func TestAnAgentThatStartsDuringAShutdownNoticesIt(t *testing.T) {
	l := fakelogind.Start(t, time.Hour)
	l.Announce(t, true)
	watch(t, Config{Bus: l.Address, DropIns: l.DropIns}).hears(t, "down")
}

func TestLogindIsAskedToWaitLongEnough(t *testing.T) {
	l := fakelogind.Start(t, 5*time.Second)
	watch(t, Config{Bus: l.Address, Delay: 90 * time.Second, DropIns: l.DropIns}).hears(t, "up")
	text, err := os.ReadFile(filepath.Join(l.DropIns, "99-kubelet.conf"))
	if err != nil || !strings.Contains(string(text), "[Login]\nInhibitDelayMaxSec=90\n") {
		t.Errorf("got %q, %v", text, err)
	}
}

func TestAMachineWithoutLogindStaysUp(t *testing.T) {
	bus := "unix:path=" + filepath.Join(t.TempDir(), "none")
	watch(t, Config{Bus: bus}).hears(t, "up")
}

func TestTheWatcherComesBackWhenTheBusDoes(t *testing.T) {
	first := fakelogind.Start(t, time.Hour)
	m := watch(t, Config{Bus: first.Address, DropIns: first.DropIns})
	first.Taken(t)
	m.hears(t, "up")
	second := first.Restart(t)
	second.Taken(t)
	second.Announce(t, true)
	m.hears(t, "down")
}
