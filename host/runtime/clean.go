package runtime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// goneWait limits how long the kernel may take to end processes and to remove cgroups.
const goneWait = 10 * time.Second

// Clean removes everything of a node's runtime from the machine. Pods that still run are killed without grace. The
// node's agent must not be running.
func Clean(ctx context.Context, c Config) error {
	l, err := newLayout(c)
	if err != nil {
		return err
	}
	lock, err := takeLock(l.lock())
	if errors.Is(err, os.ErrNotExist) {
		lock, err = nil, nil // the directory is gone: the rest may not be
	}
	if err != nil {
		return fmt.Errorf("clean the runtime: %w", err)
	}
	if lock != nil {
		defer giveBack(lock)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := errors.Join(l.unlink(c.Link), l.clean(ctx, c.Network)); err != nil {
		return fmt.Errorf("clean the runtime: %w", err)
	}
	return nil
}

// Is reports whether a directory below a root directory holds a node's runtime. An empty one does. A start that failed
// may have made no more than directories.
func Is(dir string) (bool, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false, fmt.Errorf("look for a runtime: %w", err)
	}
	names := []string{lockName, bundlesName, networksName, registriesName, directRegistriesName}
	ours := func(e os.DirEntry) bool { return slices.Contains(names, e.Name()) }
	return len(entries) == 0 || slices.ContainsFunc(entries, ours), nil
}

// clean goes on after a failure, so that one failure leaves only what it concerns. But the files stay until nothing is
// mounted among them, and those of the network until it is gone.
func (l layout) clean(ctx context.Context, network Network) error {
	groups := l.containerCgroups() // known from files, so look first
	err := errors.Join(l.stopDaemons(ctx), l.killAll(ctx, groups))
	cutOff := network.Clean(ctx)
	err = errors.Join(err, cutOff, l.removeShimSockets(), l.unmountAll(), removeCgroups(ctx, groups))
	left, unseen := l.mounted()
	if unseen != nil { // files of something that is mounted might be removed
		return errors.Join(err, unseen)
	}
	if len(left) > 0 {
		return errors.Join(err, fmt.Errorf("%s is still mounted: its files stay", left[0]))
	}
	gone := []string{l.state, l.root}
	if cutOff != nil { // the next try needs the other files: the conflist, the addresses and the plugins
		gone = []string{l.state, l.content(), l.temp(), l.opt(), l.registries(), l.directRegistries(), l.log()}
	}
	for _, path := range gone {
		err = errors.Join(err, os.RemoveAll(path))
	}
	return errors.Join(err, removeIfEmpty(stateParent))
}

func (l layout) stopDaemons(ctx context.Context) error {
	_, err := l.takeOver(ctx, nil) // no command line is empty, so it ends all
	return err
}

// killAll kills shims and containers of this node, in rounds: a shim may fork between two looks.
func (l layout) killAll(ctx context.Context, groups []string) error {
	var left []int
	err := until(ctx, func() bool {
		left = l.owned(groups)
		for _, pid := range left {
			_ = unix.Kill(pid, unix.SIGKILL) // the next look tells whether it worked
		}
		return len(left) == 0
	})
	if err != nil {
		return fmt.Errorf("kill processes %v of the runtime: %w", left, err)
	}
	return nil
}

// owned lists the processes of this node: containerd's programs that work on its directories, processes with a root
// file system there, and those in a container's cgroup.
func (l layout) owned(groups []string) []int {
	var found []int
	for _, p := range processes() {
		if p.pid != os.Getpid() && (l.serves(p) || l.contains(p.pid)) {
			found = append(found, p.pid)
		}
	}
	return append(found, cgroupProcesses(groups)...)
}

func (l layout) serves(p process) bool {
	switch filepath.Base(p.args[0]) {
	case "containerd", "containerd-shim-runc-v2", "runc":
	default:
		return false
	}
	return slices.ContainsFunc(p.args[1:], l.holds) && l.sharedWith(p)
}

// contains reports whether the root file system of a process lies in the node's directories: it is a snapshot, or an
// overlay whose upper layer is one.
func (l layout) contains(pid int) bool {
	file, err := os.Open(filepath.Join("/proc", strconv.Itoa(pid), "mountinfo"))
	if err != nil {
		return false // it has ended
	}
	defer file.Close()
	roots, err := mountinfo.GetMountsFromReader(file, mountinfo.SingleEntryFilter("/"))
	if err != nil {
		return false
	}
	for _, m := range roots {
		if l.holds(m.Root) {
			return true
		}
		for option := range strings.SplitSeq(m.VFSOptions, ",") {
			if key, value, ok := strings.Cut(option, "="); ok && key == "upperdir" && l.holds(value) {
				return true
			}
		}
	}
	return false
}

// removeShimSockets removes the sockets that containerd 1.6 and 1.7 keep outside of the state directory. Each is named
// in its container's files.
func (l layout) removeShimSockets() error {
	addresses, err := filepath.Glob(filepath.Join(l.tasks(), "io.containerd.runtime.v2.task/*/*/address"))
	if err != nil {
		return fmt.Errorf("look for sockets of shims: %w", err)
	}
	var errs []error
	for _, file := range addresses {
		raw, err := os.ReadFile(file)
		socket, ok := strings.CutPrefix(strings.TrimSpace(string(raw)), "unix://")
		if err != nil || !ok || !filepath.IsAbs(socket) {
			continue
		}
		if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, fmt.Errorf("remove the socket of a shim: %w", err))
		}
	}
	return errors.Join(errs...)
}

// removeIfEmpty removes a directory unless it is in use.
func removeIfEmpty(dir string) error {
	err := os.Remove(dir)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENOTEMPTY) ||
		errors.Is(err, unix.EEXIST) || errors.Is(err, unix.EBUSY) {
		return nil
	}
	return err
}

// until repeats a look until it succeeds: the kernel still works on a removal when the call for it returns.
func until(ctx context.Context, look func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, goneWait)
	defer cancel()
	for !look() {
		if !sleep(ctx, 10*time.Millisecond) {
			return ctx.Err()
		}
	}
	return nil
}
