package logind

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/godbus/dbus/v5"

	"nodal/host/replace"
)

// DropIns is the directory in which logind finds drop-ins.
const DropIns = "/etc/systemd/logind.conf.d"

// dropIn is the name that upstream gives its file too: only one of both may count.
const dropIn = "99-kubelet.conf"

// The time for logind to read its configuration again, and how often it is looked at meanwhile.
const (
	reloadPatience = 3 * time.Second
	reloadLook     = 50 * time.Millisecond
)

// widen has logind wait as long as a shutdown may take. If it cannot, a shutdown has less time than that.
func (w *Watcher) widen(ctx context.Context, conn *dbus.Conn) {
	has, err := delay(conn)
	if err != nil || has >= w.Delay {
		return
	}
	err = w.raise(ctx, conn)
	for deadline := time.Now().Add(reloadPatience); err == nil && has < w.Delay && time.Now().Before(deadline); {
		select {
		case <-time.After(reloadLook):
			has, err = delay(conn)
		case <-ctx.Done():
			return
		}
	}
	if err != nil || has < w.Delay {
		w.Log.Warn("logind delays a shutdown for less time than the pods may take; set InhibitDelayMaxSec in logind.conf",
			"wanted", w.Delay, "delay", has, "err", err)
	}
}

// delay returns how long logind waits at most.
func delay(conn *dbus.Conn) (time.Duration, error) {
	v, err := conn.Object(busName, busPath).GetProperty(manager + ".InhibitDelayMaxUSec")
	if err != nil {
		return 0, fmt.Errorf("read logind's longest delay: %w", err)
	}
	us, ok := v.Value().(uint64)
	if !ok {
		return 0, fmt.Errorf("read logind's longest delay: it is a %T", v.Value())
	}
	return time.Duration(min(us, math.MaxInt64/1000)) * time.Microsecond, nil
}

// raise writes a drop-in for logind and has it read that.
func (w *Watcher) raise(ctx context.Context, conn *dbus.Conn) error {
	if err := os.MkdirAll(w.DropIns, 0o755); err != nil {
		return fmt.Errorf("make the directory of logind's drop-ins: %w", err)
	}
	text := fmt.Sprintf("# Written by the kubelet: its pods may take so long to end.\n[Login]\nInhibitDelayMaxSec=%.0f\n",
		math.Ceil(w.Delay.Seconds()))
	if err := replace.File(filepath.Join(w.DropIns, dropIn), []byte(text), 0o644); err != nil {
		return fmt.Errorf("raise logind's longest delay: %w", err)
	}
	const hup = int32(1)
	err := conn.Object("org.freedesktop.systemd1", "/org/freedesktop/systemd1").CallWithContext(ctx,
		"org.freedesktop.systemd1.Manager.KillUnit", 0, "systemd-logind.service", "all", hup).Err
	if err != nil {
		return fmt.Errorf("have logind read its configuration: %w", err)
	}
	return nil
}
