package runtime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// stopGrace limits how long containerd may take to end before it is killed.
const stopGrace = 10 * time.Second

// daemon is a running containerd, a child of this process or not. Its descriptor stands for the one process; a PID is
// used again.
type daemon struct {
	pid     int
	fd      *os.File
	done    chan struct{} // closed when it has ended
	ended   string        // how, once done is closed
	killed  bool          // by a signal, as far as we know
	adopted bool
}

// command builds the command line of containerd. It says everything that matters, so a process with the same command
// line is the containerd that would be started now.
func command(p programs, config string) []string {
	return []string{p.containerd, "--config", config}
}

// startDaemon starts containerd so that it outlives this process: in a session of its own, with its log in a file.
func (l layout) startDaemon(p programs, config string) (*daemon, error) {
	if err := trimLog(l.log()); err != nil {
		return nil, err
	}
	log, err := os.OpenFile(l.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open containerd's log: %w", err)
	}
	defer log.Close()
	args := command(p, config)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = log, log, l.root
	cmd.Env = environment(os.Environ(), filepath.Dir(p.containerd), l.temp())
	var fd int
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, PidFD: &fd}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start containerd: %w", err)
	}
	d := &daemon{pid: cmd.Process.Pid, fd: os.NewFile(uintptr(fd), "containerd"), done: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // the state has its result
		d.ended = cmd.ProcessState.String()
		d.killed = cmd.ProcessState.Sys().(syscall.WaitStatus).Signaled()
		close(d.done)
	}()
	return d, nil
}

// environment builds containerd's. It finds its own programs first, and those that network plugins need even if this
// process was started with a bare PATH.
func environment(base []string, bin, temp string) []string {
	path := os.Getenv("PATH")
	// systemd speaks to the agent alone: containerd must not report that the service is ready.
	own := []string{"PATH", "TMPDIR", "NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "LISTEN_FDS", "LISTEN_PID"}
	env := slices.DeleteFunc(slices.Clone(base), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(own, name)
	})
	dirs := []string{bin, path, "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}
	dirs = slices.DeleteFunc(dirs, func(dir string) bool { return dir == "" })
	return append(env, "PATH="+strings.Join(dirs, ":"), "TMPDIR="+temp)
}

// adopt takes over a process that an agent before has started.
func adopt(pid int) (*daemon, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, fmt.Errorf("open process %d: %w", pid, err)
	}
	// Go's poller takes only descriptors that do not block.
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, errors.Join(fmt.Errorf("open process %d: %w", pid, err), unix.Close(fd))
	}
	d := &daemon{pid: pid, fd: os.NewFile(uintptr(fd), "containerd"), done: make(chan struct{}), adopted: true}
	go d.watch()
	return d, nil
}

// watch waits for the end of a process that is not a child.
func (d *daemon) watch() {
	conn, err := d.fd.SyscallConn()
	if err == nil {
		err = conn.Read(func(fd uintptr) bool {
			poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			n, err := unix.Poll(poll, 0)
			return n > 0 || err != nil && !errors.Is(err, unix.EINTR)
		})
	}
	d.ended = "ended"
	if err != nil {
		d.ended = "lost sight of: " + err.Error()
	}
	close(d.done)
}

// running lists the containerds that work on the node's directories: each names its configuration in its command line.
func (l layout) running() []process {
	var found []process
	for _, p := range processes() {
		if len(p.args) < 3 || filepath.Base(p.args[0]) != "containerd" {
			continue
		}
		i := slices.Index(p.args, "--config")
		if i > 0 && i+1 < len(p.args) && inside(p.args[i+1], l.root) && l.sharedWith(p) {
			found = append(found, p)
		}
	}
	return found
}

// takeOver adopts the containerd that runs with exactly this command line, and ends every other one on the node's
// directories: two would fight over the state.
func (l layout) takeOver(ctx context.Context, args []string) (*daemon, error) {
	var same *daemon
	for _, p := range l.running() {
		d, err := adopt(p.pid)
		if errors.Is(err, unix.ESRCH) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if same == nil && slices.Equal(p.args, args) && unchanged(p.pid, args[0]) {
			same = d
			continue
		}
		if err := d.stop(ctx); err != nil {
			return nil, err
		}
	}
	return same, nil
}

// unchanged reports whether a process runs the file that is at the path now. An upgrade of the host's package puts
// another file there.
func unchanged(pid int, path string) bool {
	runs, err := os.Stat(procPath(pid, "exe"))
	if err != nil {
		return false
	}
	now, err := os.Stat(path)
	return err == nil && os.SameFile(runs, now)
}

// stop ends containerd and nothing else: shims and containers go on.
func (d *daemon) stop(ctx context.Context) error {
	if err := d.signal(unix.SIGTERM); err != nil {
		return err
	}
	grace := time.NewTimer(stopGrace)
	defer grace.Stop()
	select {
	case <-d.done:
		return nil
	case <-grace.C:
	case <-ctx.Done():
	}
	if err := d.signal(unix.SIGKILL); err != nil {
		return err
	}
	<-d.done
	return nil
}

func (d *daemon) signal(s unix.Signal) error {
	conn, err := d.fd.SyscallConn()
	if err != nil {
		return fmt.Errorf("signal containerd: %w", err)
	}
	var sent error
	if err := conn.Control(func(fd uintptr) { sent = unix.PidfdSendSignal(int(fd), s, nil, 0) }); err != nil {
		return fmt.Errorf("signal containerd: %w", err)
	}
	if sent != nil && !errors.Is(sent, unix.ESRCH) {
		return fmt.Errorf("signal containerd (process %d): %w", d.pid, sent)
	}
	return nil
}

func (d *daemon) close() error {
	if d == nil {
		return nil
	}
	return d.fd.Close()
}
