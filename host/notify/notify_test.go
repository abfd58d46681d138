package notify

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// manager returns the receiving end.
func manager(t *testing.T, name string) *net.UnixConn {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// hear waits for the next datagram, and returns "" if none arrives in time.
func hear(t *testing.T, conn *net.UnixConn, within time.Duration) string {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(within)); err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 100)
	n, err := conn.Read(buffer)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return "silence"
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(buffer[:n])
}

const (
	soon   = 10 * time.Second // where something has to come
	period = 40 * time.Millisecond
)

func TestStatesReachTheManager(t *testing.T) {
	for name, address := range map[string]string{
		"at a path":              filepath.Join(t.TempDir(), "n"),
		"at an abstract address": "@nodal-notify-test-" + strconv.Itoa(os.Getpid()),
	} {
		t.Run(name, func(t *testing.T) {
			conn := manager(t, address)
			s := Supervisor{socket: address}
			for _, told := range []struct {
				tell func() error
				want string
			}{{s.Ready, "READY=1"}, {s.Stopping, "STOPPING=1"}} {
				if err := told.tell(); err != nil {
					t.Fatal(err)
				}
				if got := hear(t, conn, soon); got != told.want {
					t.Errorf("got %q, want %q", got, told.want)
				}
			}
		})
	}
}

func TestTheWatchdogIsFedOnlyWhileAlive(t *testing.T) {
	conn := manager(t, filepath.Join(t.TempDir(), "n"))
	s := Supervisor{socket: conn.LocalAddr().String(), watchdog: period}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	asked, answers := make(chan struct{}), make(chan error)
	var log bytes.Buffer
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Watch(ctx, func(context.Context) error {
			asked <- struct{}{}
			return <-answers
		}, slog.New(slog.NewTextHandler(&log, nil)))
	}()
	for range 3 {
		<-asked
		answers <- nil
		if got := hear(t, conn, soon); got != "WATCHDOG=1" {
			t.Errorf("alive: got %q, want WATCHDOG=1", got)
		}
	}
	<-asked
	if got := hear(t, conn, 3*period); got != "silence" {
		t.Errorf("hanging: got %q, want silence", got)
	}
	answers <- errors.New("out of order")
	<-asked // so what became of the last answer is known
	if got := hear(t, conn, period); got != "silence" {
		t.Errorf("not well: got %q, want silence", got)
	}
	cancel()
	answers <- nil
	<-ended
	if got, want := log.String(), "out of order"; !strings.Contains(got, want) {
		t.Errorf("the log is %q, want in it %q", got, want)
	}
}

func TestAnAnswerIsWaitedForHalfThePeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := Supervisor{socket: "/nowhere", watchdog: 30 * time.Second}
		ctx, cancel := context.WithCancel(t.Context())
		begin := time.Now()
		var waited time.Duration
		s.Watch(ctx, func(asked context.Context) error {
			<-asked.Done()
			waited = time.Since(begin)
			cancel()
			return asked.Err()
		}, slog.New(slog.DiscardHandler))
		if want := 15 * time.Second; waited != want {
			t.Errorf("waited %s, want %s", waited, want)
		}
	})
}

func TestVariablesAreTakenFromTheEnvironment(t *testing.T) {
	own := strconv.Itoa(os.Getpid())
	for _, c := range []struct {
		name                   string
		socket, usec, watchPID string
		want                   Supervisor
		fails                  bool
	}{
		{name: "no service manager"},
		{name: "no watchdog", socket: "/run/n", want: Supervisor{socket: "/run/n"}},
		{name: "a watchdog", socket: "/run/n", usec: "30000000", watchPID: own, want: Supervisor{"/run/n", 30 * time.Second}},
		{name: "a watchdog of whoever reads it", socket: "/run/n", usec: "2000000", want: Supervisor{"/run/n", 2 * time.Second}},
		{name: "a watchdog of another process", socket: "/run/n", usec: "30000000", watchPID: "1", want: Supervisor{socket: "/run/n"}},
		{name: "no number", socket: "/run/n", usec: "soon", fails: true},
		{name: "no time at all", socket: "/run/n", usec: "0", fails: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, value := range map[string]string{socketName: c.socket, periodName: c.usec, watchedName: c.watchPID} {
				t.Setenv(name, value)
			}
			got, err := FromEnvironment()
			if got != c.want || (err != nil) != c.fails {
				t.Errorf("got %+v and %v, want %+v and an error: %t", got, err, c.want, c.fails)
			}
			for _, name := range []string{socketName, periodName, watchedName} {
				if value, left := os.LookupEnv(name); left {
					t.Errorf("%s=%s is left for children", name, value)
				}
			}
		})
	}
}

func TestWithoutAManagerNothingIsSent(t *testing.T) {
	var none Supervisor
	asked := func(context.Context) error {
		t.Error("nobody watches, and the loop was asked")
		return nil
	}
	if err := errors.Join(none.Ready(), none.Stopping()); err != nil {
		t.Error(err)
	}
	none.Watch(t.Context(), asked, slog.New(slog.DiscardHandler))
}

func TestAManagerThatIsGoneIsAnError(t *testing.T) {
	s := Supervisor{socket: filepath.Join(t.TempDir(), "gone")}
	if err := s.Ready(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want that there is no such socket", err)
	}
}
