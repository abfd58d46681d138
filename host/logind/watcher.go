package logind

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/godbus/dbus/v5"
)

const (
	busName  = "org.freedesktop.login1"
	busPath  = dbus.ObjectPath("/org/freedesktop/login1")
	manager  = "org.freedesktop.login1.Manager"
	prepares = "PrepareForShutdown"
)

// pause is the time between attempts to reach logind.
const pause = time.Second

// Machine is told what becomes of the machine.
type Machine interface {
	// GoDown begins a shutdown. The channel is closed when the machine may go on with it.
	GoDown(cause string) (ended <-chan struct{})
	// StayUp says that no shutdown is under way, or that it was called off.
	StayUp()
}

// Config holds where logind is, and what is asked of it.
type Config struct {
	Bus     string        // address of the bus; empty for that of the system
	DropIns string        // directory of logind's drop-ins
	Delay   time.Duration // that a shutdown may take
	Machine Machine
	Log     *slog.Logger
	Pause   time.Duration // between attempts; zero for the usual one
}

// Watcher follows logind. Its methods are for one goroutine.
type Watcher struct {
	Config
	lock  *os.File        // delays a shutdown while it is open; nil if there is none
	ended <-chan struct{} // of the shutdown that logind has announced; nil if there is none
	told  bool            // the machine was told how it is
	fault string          // that was logged last
}

// New makes a watcher that has not begun.
func New(c Config) *Watcher {
	if c.Pause == 0 {
		c.Pause = pause
	}
	return &Watcher{Config: c}
}

// Run follows logind until the context ends, and tries again when the bus goes. A machine whose logind cannot be
// reached counts as one that stays up.
func (w *Watcher) Run(ctx context.Context) {
	defer w.release()
	for ctx.Err() == nil {
		err := w.follow(ctx)
		if ctx.Err() != nil {
			return
		}
		if text := err.Error(); text != w.fault {
			w.fault = text
			w.Log.Warn("cannot follow logind; a shutdown of the machine is not noticed meanwhile", "err", err)
		}
		if !w.told {
			w.stayUp()
		}
		again := time.NewTimer(w.Pause)
		for waiting := true; waiting; {
			select {
			case <-w.ended:
				w.letGo()
			case <-again.C:
				waiting = false
			case <-ctx.Done():
				return
			}
		}
	}
}

// follow follows logind over one connection, until that breaks.
func (w *Watcher) follow(ctx context.Context) error {
	conn, err := w.connect(ctx)
	if err != nil {
		return fmt.Errorf("connect to D-Bus: %w", err)
	}
	defer conn.Close()
	signals := make(chan *dbus.Signal, 16)
	conn.Signal(signals) // closes the channel when the connection breaks
	if err := conn.AddMatchSignalContext(ctx, dbus.WithMatchInterface(manager), dbus.WithMatchMember(prepares),
		dbus.WithMatchObjectPath(busPath)); err != nil {
		return fmt.Errorf("watch for shutdowns: %w", err)
	}
	w.widen(ctx, conn)
	locked := w.inhibit(ctx, conn)
	switch down := preparing(conn); { // only now: the signal may have come before
	case down:
		w.goDown()
	case locked != nil:
		return locked
	case !w.told || w.ended != nil: // what else ends the pods goes on
		w.stayUp()
	}
	w.fault = ""
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w.ended:
			w.letGo()
		case s, open := <-signals:
			if !open {
				return errors.New("the connection to D-Bus has ended")
			}
			if down, ok := announced(s); ok && down {
				w.goDown()
			} else if ok {
				w.stayUp()
				if err := w.inhibit(ctx, conn); err != nil {
					return err
				}
			}
		}
	}
}

// connect reaches the bus. The address of the system's may stand in DBUS_SYSTEM_BUS_ADDRESS, as for all its clients.
func (w *Watcher) connect(ctx context.Context) (*dbus.Conn, error) {
	if w.Bus == "" {
		return dbus.ConnectSystemBus(dbus.WithContext(ctx))
	}
	return dbus.Connect(w.Bus, dbus.WithContext(ctx))
}

// announced reads a signal: down is false if a shutdown was called off.
func announced(s *dbus.Signal) (down, ok bool) {
	if s.Name != manager+"."+prepares || len(s.Body) != 1 {
		return false, false
	}
	down, ok = s.Body[0].(bool)
	return down, ok
}

// preparing reports whether a shutdown is under way already. A logind that does not say has none.
func preparing(conn *dbus.Conn) bool {
	v, err := conn.Object(busName, busPath).GetProperty(manager + ".PreparingForShutdown")
	if err != nil {
		return false
	}
	down, _ := v.Value().(bool)
	return down
}

// inhibit takes a lock, and gives up the one before it. logind grants none while it shuts down.
func (w *Watcher) inhibit(ctx context.Context, conn *dbus.Conn) error {
	var fd dbus.UnixFD
	err := conn.Object(busName, busPath).CallWithContext(ctx, manager+".Inhibit", 0,
		"shutdown", "kubelet", "the node's pods have to end first", "delay").Store(&fd)
	if err != nil {
		return fmt.Errorf("take logind's lock that delays a shutdown: %w", err)
	}
	w.release()
	w.lock = os.NewFile(uintptr(fd), "inhibitor lock")
	return nil
}

func (w *Watcher) goDown() {
	w.told = true
	if w.ended == nil {
		w.ended = w.Machine.GoDown("logind")
	}
}

func (w *Watcher) stayUp() {
	w.told, w.ended = true, nil
	w.Machine.StayUp()
}

// letGo lets the machine shut down.
func (w *Watcher) letGo() {
	w.release()
	w.ended = make(chan struct{}) // still down, and nothing is waited for
}

func (w *Watcher) release() {
	if w.lock != nil {
		_ = w.lock.Close() // it is a pipe; nothing is written
		w.lock = nil
	}
}
