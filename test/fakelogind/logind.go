// Package fakelogind imitates systemd-logind on a bus of its own, for tests. The bus is a private dbus-daemon.
package fakelogind

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/godbus/dbus/v5/prop"
	"golang.org/x/sys/unix"
)

const (
	path    = dbus.ObjectPath("/org/freedesktop/login1")
	manager = "org.freedesktop.login1.Manager"
)

// Logind is an imitation of logind, with the systemd that tells it to read its configuration.
type Logind struct {
	Address string // of the bus
	DropIns string // directory whose 99-kubelet.conf it reads

	dir    string // of the bus
	daemon *exec.Cmd

	conn  *dbus.Conn
	props *prop.Properties
	down  bool
	taken chan struct{} // sent to for each lock that was taken

	mu    sync.Mutex
	locks []*os.File // the ends that close once the holder has let go
}

// Start starts a bus with an imitation on it. It skips the test where there is no dbus-daemon. delay is how long it says
// that it waits.
func Start(t *testing.T, delay time.Duration) *Logind {
	t.Helper()
	dir, err := os.MkdirTemp("", "nodal-bus-") // short: a unix address has 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return startIn(t, dir, delay)
}

// Restart ends the bus with the imitation, and starts both again at the same address.
func (l *Logind) Restart(t *testing.T) *Logind {
	t.Helper()
	l.conn.Close()
	_ = l.daemon.Process.Kill()
	_ = l.daemon.Wait()
	if err := os.RemoveAll(filepath.Join(l.dir, "bus")); err != nil {
		t.Fatal(err)
	}
	return startIn(t, l.dir, time.Hour)
}

func startIn(t *testing.T, dir string, delay time.Duration) *Logind {
	t.Helper()
	l := &Logind{DropIns: t.TempDir(), taken: make(chan struct{}, 100), dir: dir, Address: "unix:path=" + filepath.Join(dir, "bus")}
	l.startBus(t)
	var err error
	if l.conn, err = dbus.Connect(l.Address); err != nil {
		t.Fatalf("connect to the private bus: %v", err)
	}
	t.Cleanup(func() { l.conn.Close() })
	if err := l.conn.Export(methods{l}, path, manager); err != nil {
		t.Fatal(err)
	}
	if err := l.conn.Export(systemd{l}, "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager"); err != nil {
		t.Fatal(err)
	}
	l.props, err = prop.Export(l.conn, path, prop.Map{manager: {
		"InhibitDelayMaxUSec":  {Value: uint64(delay / time.Microsecond)},
		"PreparingForShutdown": {Value: false},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"org.freedesktop.login1", "org.freedesktop.systemd1"} {
		if reply, err := l.conn.RequestName(name, dbus.NameFlagDoNotQueue); err != nil || reply != dbus.RequestNameReplyPrimaryOwner {
			t.Fatalf("take the name %s: %v, %v", name, reply, err)
		}
	}
	return l
}

// startBus starts a private dbus-daemon.
func (l *Logind) startBus(t *testing.T) {
	t.Helper()
	program, err := exec.LookPath("dbus-daemon")
	if err != nil {
		t.Skip("there is no dbus-daemon; install dbus")
	}
	config := filepath.Join(l.dir, "bus.conf")
	text := `<busconfig><type>system</type><listen>` + l.Address + `</listen><auth>EXTERNAL</auth>` +
		`<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow receive_sender="*"/><allow own="*"/>` +
		`</policy></busconfig>`
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	l.daemon = exec.Command(program, "--config-file="+config, "--nofork", "--nopidfile", "--print-address=1")
	l.daemon.Stderr = os.Stderr
	out, err := l.daemon.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := l.daemon.Start(); err != nil {
		t.Fatalf("start a private dbus-daemon: %v", err)
	}
	t.Cleanup(func() {
		_ = l.daemon.Process.Kill()
		_ = l.daemon.Wait()
	})
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil { // it listens once it has printed its address
		t.Fatalf("wait for the private bus: %v", err)
	}
}

// methods are those of logind that clients call.
type methods struct{ *Logind }

// Inhibit gives the caller a lock.
func (l methods) Inhibit(what, who, why, mode string) (dbus.UnixFD, *dbus.Error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if what != "shutdown" || mode != "delay" || who == "" || why == "" {
		return 0, dbus.MakeFailedError(fmt.Errorf("inhibit %s %s", what, mode))
	}
	if l.down {
		return 0, dbus.MakeFailedError(fmt.Errorf("a shutdown is under way"))
	}
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return 0, dbus.MakeFailedError(err)
	}
	l.locks = append(l.locks, os.NewFile(uintptr(ends[0]), "lock"))
	l.taken <- struct{}{}
	// The reply carries a copy; ours has to close, or the lock would never end.
	time.AfterFunc(time.Second, func() { _ = unix.Close(ends[1]) })
	return dbus.UnixFD(ends[1]), nil
}

// systemd tells logind to read its configuration.
type systemd struct{ *Logind }

// KillUnit has the imitation read its drop-in.
func (s systemd) KillUnit(unit, whom string, signal int32) *dbus.Error {
	text, err := os.ReadFile(filepath.Join(s.DropIns, "99-kubelet.conf"))
	if err != nil || unit != "systemd-logind.service" || signal != int32(unix.SIGHUP) {
		return dbus.MakeFailedError(fmt.Errorf("kill %s %s %d: %v", unit, whom, signal, err))
	}
	_, number, _ := strings.Cut(string(text), "InhibitDelayMaxSec=")
	seconds, err := strconv.ParseUint(strings.TrimSpace(number), 10, 64)
	if err != nil {
		return dbus.MakeFailedError(err)
	}
	s.props.SetMust(manager, "InhibitDelayMaxUSec", seconds*1_000_000)
	return nil
}

// Taken waits until a lock was taken.
func (l *Logind) Taken(t *testing.T) {
	t.Helper()
	select {
	case <-l.taken:
	case <-time.After(20 * time.Second):
		t.Fatal("no lock was taken")
	}
}

// Announce says that the machine shuts down, or that it does not after all.
func (l *Logind) Announce(t *testing.T, down bool) {
	t.Helper()
	l.mu.Lock()
	l.down = down
	l.mu.Unlock()
	l.props.SetMust(manager, "PreparingForShutdown", down)
	if err := l.conn.Emit(path, manager+".PrepareForShutdown", down); err != nil {
		t.Fatalf("announce a shutdown: %v", err)
	}
}

// Released waits until all locks were let go, and returns how long that took.
func (l *Logind) Released(t *testing.T, patience time.Duration) time.Duration {
	t.Helper()
	l.mu.Lock()
	locks := l.locks
	l.mu.Unlock()
	began := time.Now()
	for _, lock := range locks {
		if err := lock.SetReadDeadline(began.Add(patience)); err != nil {
			t.Fatal(err)
		}
		if _, err := lock.Read(make([]byte, 1)); os.IsTimeout(err) {
			t.Fatalf("a lock is still held after %s", patience)
		}
	}
	return time.Since(began)
}

// Held reports whether a lock is held.
func (l *Logind) Held() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, lock := range l.locks {
		_ = lock.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
		if _, err := lock.Read(make([]byte, 1)); os.IsTimeout(err) {
			return true
		}
	}
	return false
}
