package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"nodal/node"
)

// Config is the configuration of a node's runtime.
type Config struct {
	RootDir  string // of the node; the runtime has a directory below it
	StateDir string // for what does not survive a reboot; DefaultStateDir if empty
	Link     string // leads to containerd's socket, for programs that cannot know its path; empty for none

	// Archive and Index are the bundle that the build brought along. Without them the programs of the host serve.
	Archive, Index []byte
	// UnpackCommand starts a process that calls Unpack with the same arguments. Without it this process unpacks, and
	// keeps the memory that this takes.
	UnpackCommand []string

	// SandboxImage is never collected as garbage. If it differs from the last start's, containerd is restarted.
	SandboxImage string
	CgroupDriver string   // "cgroupfs" or "systemd"; that of the machine if empty
	CDIDirs      []string // of the specs of devices
	Network      Network

	Log  *slog.Logger
	Tell func(node.Event) // called from one goroutine at a time; nil disables it
}

// Network connects pods. Whatever it has on the machine outlives this process, and Clean removes it.
type Network interface {
	Checks(ctx context.Context) []node.Check
	SetUp(ctx context.Context) error
	// Keep repairs the network if others have removed parts of it and ours still holds then, and removes what pods have
	// left. Sandboxes lists the runtime's sandboxes, and whether each is ready. Keep returns events about all that.
	Keep(ctx context.Context, ours func() bool, sandboxes func(context.Context) (map[string]bool, error),
	) ([]node.Event, error)
	// Watch tells when others have removed parts of the network, until the context ends.
	Watch(ctx context.Context) (<-chan struct{}, error)
	Clean(ctx context.Context) error
}

// Reasons of events.
const (
	Repaired = "RuntimeRepaired" // damaged files of the bundle were unpacked again
	Started  = "RuntimeStarted"
	Adopted  = "RuntimeAdopted" // one that ran already
	Exited   = "RuntimeExited"
	Failed   = "RuntimeFailed" // it did not come up
)

// Runtime is a containerd that answers. Run keeps it so.
type Runtime struct {
	config   Config
	layout   layout
	hostDirs hostDirs
	lock     *os.File
	systemd  bool

	mu     sync.Mutex // held over a change of daemon
	daemon *daemon
}

// Start returns when containerd answers and pods can be made. On a machine that cannot run containers, its error names
// everything that is missing.
func Start(ctx context.Context, c Config) (*Runtime, error) {
	l, err := newLayout(c)
	if err != nil {
		return nil, err
	}
	r := &Runtime{config: c, layout: l, hostDirs: newHostDirs()}
	if r.systemd, err = chooseDriver(c.CgroupDriver); err != nil {
		return nil, err
	}
	// The trials are left out: the start itself finds their faults.
	if err := required(look(ctx, c, false)); err != nil {
		return nil, err
	}
	if err := l.make(); err != nil {
		return nil, err
	}
	if r.lock, err = takeLock(l.lock()); err != nil {
		return nil, err
	}
	if err := r.begin(ctx); err != nil {
		ctx := context.WithoutCancel(ctx)
		if why := required(Check(ctx, c)); why != nil {
			err = errors.Join(why, err)
		}
		return nil, errors.Join(err, r.giveUp(ctx), r.Close())
	}
	if c.Link != "" {
		if err := l.link(c.Link); err != nil {
			c.Log.Warn("other programs do not find the runtime at its usual path", "err", err)
		}
	}
	return r, nil
}

// giveUp ends the containerd of a start that failed, unless it ran before.
func (r *Runtime) giveUp(ctx context.Context) error {
	if r.daemon == nil || r.daemon.adopted {
		return nil
	}
	return r.daemon.stop(ctx)
}

func chooseDriver(name string) (systemd bool, err error) {
	switch name {
	case "":
		return systemdRules(), nil
	case "cgroupfs":
		return false, nil
	case "systemd":
		if !isDir(systemdRuns) {
			return false, errors.New("cgroup driver systemd: systemd does not run on this machine")
		}
		return true, nil
	}
	return false, fmt.Errorf("cgroup driver %q: must be cgroupfs or systemd", name)
}

// takeLock keeps a second agent off the directories. The kernel gives the lock back when this process ends, however
// that happens.
func takeLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the runtime's directory: %w", err)
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = errors.New("another process uses it: stop the agent that runs with this root directory")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
	}
	return f, nil
}

// giveBack releases a lock even while a program that is being started has the file open for a moment more.
func giveBack(lock *os.File) error {
	return errors.Join(unix.Flock(int(lock.Fd()), unix.LOCK_UN), lock.Close())
}

// begin sets the network up while the programs are laid down: containerd is to find both.
func (r *Runtime) begin(ctx context.Context) error {
	began := time.Now()
	var p programs
	group, beside := errgroup.WithContext(ctx)
	group.Go(func() error { return r.config.Network.SetUp(beside) })
	group.Go(func() (err error) {
		p, err = r.programs(beside)
		return err
	})
	if err := group.Wait(); err != nil {
		return err
	}
	return r.raise(ctx, p, began)
}

// Endpoint returns the address of the runtime's CRI service.
func (r *Runtime) Endpoint() string { return "unix://" + r.layout.socket() }

// LogFile returns the file to which containerd logs. Its earlier part is in a second file, with .1 at its end.
func (r *Runtime) LogFile() string { return r.layout.log() }

// CgroupDriver returns "systemd" or "cgroupfs".
func (r *Runtime) CgroupDriver() string {
	if r.systemd {
		return "systemd"
	}
	return "cgroupfs"
}

// LogPath returns the file of containerd's log.
func (r *Runtime) LogPath() string { return r.layout.log() }

// Pid returns the id of the containerd process.
func (r *Runtime) Pid() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.daemon.pid
}

func (r *Runtime) tell(e node.Event) {
	e.Time = time.Now()
	level := slog.LevelInfo
	if e.Warning {
		level = slog.LevelWarn
	}
	r.config.Log.Log(context.Background(), level, e.Message, "reason", e.Reason, "took", e.Took)
	if r.config.Tell != nil {
		r.config.Tell(e)
	}
}

// Close releases containerd, which goes on.
func (r *Runtime) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(r.daemon.close(), giveBack(r.lock))
}
