package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"time"
)

// Supervisor is the service manager. The zero value stands for none.
type Supervisor struct {
	socket   string        // empty without a service manager
	watchdog time.Duration // the longest silence that it bears; 0 means any
}

const (
	socketName  = "NOTIFY_SOCKET"
	periodName  = "WATCHDOG_USEC"
	watchedName = "WATCHDOG_PID"
)

// FromEnvironment reads the service manager's variables and removes them from the environment: a child of ours that
// inherited them could send notices in our name.
func FromEnvironment() (Supervisor, error) {
	s := Supervisor{socket: os.Getenv(socketName)}
	period, watched := os.Getenv(periodName), os.Getenv(watchedName)
	for _, name := range []string{socketName, periodName, watchedName} {
		if err := os.Unsetenv(name); err != nil {
			return Supervisor{}, fmt.Errorf("remove %s from the environment: %w", name, err)
		}
	}
	// A process that was started by the watched one may have its variables.
	if period == "" || watched != "" && watched != strconv.Itoa(os.Getpid()) {
		return s, nil
	}
	usec, err := strconv.ParseInt(period, 10, 64)
	if err != nil || usec <= 0 {
		return Supervisor{}, fmt.Errorf("read %s: %q is not a number of microseconds", periodName, period)
	}
	s.watchdog = time.Duration(usec) * time.Microsecond
	return s, nil
}

// Ready says that the start is complete.
func (s Supervisor) Ready() error { return s.send("READY=1") }

// Stopping says that the process is about to end because it was asked to.
func (s Supervisor) Stopping() error { return s.send("STOPPING=1") }

// Watch notifies the watchdog until the context ends, as long as alive succeeds. It calls alive twice in the time
// that the watchdog waits, so that one slow answer does no harm. It logs an error and goes on: the watchdog alone
// decides to give up on the process.
func (s Supervisor) Watch(ctx context.Context, alive func(context.Context) error, log *slog.Logger) {
	if s.socket == "" || s.watchdog == 0 {
		return
	}
	tick := time.NewTicker(s.watchdog / 2)
	defer tick.Stop()
	for ctx.Err() == nil {
		if err := s.feed(ctx, alive); err != nil && ctx.Err() == nil {
			log.Warn("cannot notify the watchdog", "err", err)
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

func (s Supervisor) feed(ctx context.Context, alive func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.watchdog/2)
	defer cancel()
	if err := alive(ctx); err != nil {
		return err
	}
	return s.send("WATCHDOG=1")
}

// send sends one notice. It opens the socket each time: the manager may have replaced it.
func (s Supervisor) send(state string) (err error) {
	if s.socket == "" {
		return nil
	}
	// A leading @ stands for an abstract address here as it does there.
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: s.socket, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("tell the service manager %s: %w", state, err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if _, err := conn.Write([]byte(state)); err != nil {
		return fmt.Errorf("tell the service manager %s: %w", state, err)
	}
	return nil
}
