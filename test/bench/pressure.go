package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The pods of a node under test may take so much memory together, and some has to be left.
const (
	podMemory  = 600 << 20
	keptMemory = 300 << 20
	greed      = 300 << 20 // of the disk, until it is short
	crowding   = 400       // tasks, until process IDs are short
)

// shortage is a way for a pod to make its node run short.
type shortage struct {
	what    string
	script  string
	crossed func(*member) (bool, error)
}

// shortages returns the three, and the flags of a kubelet for which they are some.
func shortages() ([]shortage, []string, error) {
	total, err := machineMemory()
	free, err2 := freeDisk("/var/lib")
	most, err3 := mostTasks()
	running, err4 := tasks()
	if err := errors.Join(err, err2, err3, err4); err != nil {
		return nil, nil, err
	}
	flags := []string{
		fmt.Sprintf("--system-reserved=memory=%d", total-podMemory),
		fmt.Sprintf("--eviction-hard=memory.available<%d,nodefs.available<%d,pid.available<%d", keptMemory, free-greed, most-running-crowding),
		"--eviction-pressure-transition-period=1s",
	}
	const leave = "trap 'exit 0' TERM; "
	return []shortage{
		{"memory", leave + "(head -c 450m /dev/zero; exec sleep 1000) | tail & wait", func(m *member) (bool, error) {
			used, err := podsUse(m.rt.CgroupParent)
			return podMemory-used < keptMemory, err
		}},
		{"disk", leave + "dd if=/dev/zero of=/filler bs=1M count=600 & wait; sleep 1000 & wait", func(*member) (bool, error) {
			now, err := freeDisk("/var/lib")
			return now < free-greed, err
		}},
		{"process IDs", leave + "i=0; while [ $i -lt 800 ]; do sleep 1000 & i=$((i+1)); done; wait", func(*member) (bool, error) {
			now, err := tasks()
			return now > running+crowding, err
		}},
	}, flags, nil
}

// pressure measures how long a kubelet takes from the moment at which its node runs short until the pod that caused it has
// ended. Static pods are never evicted, so the pods come from a cluster.
func (b *suite) pressure(ctx context.Context, control *control) error {
	took := map[string]samples{}
	var kinds []shortage
	err := b.eachAgent(func(c *column) (err error) {
		all, flags, err := shortages()
		if err != nil {
			return err
		}
		kinds = all
		m, err := newMember(ctx, b.t, control, c.name, b.binaries, flags...)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, m.process.Stop(syscall.SIGTERM, stopTimeout)) }()
		watching, stop := context.WithCancel(ctx)
		defer stop()
		if m.seen, err = control.watch(watching); err != nil {
			return err
		}
		if err := m.pull(ctx, "busybox"); err != nil {
			return err
		}
		for range b.sizes.repeats {
			for _, s := range all {
				if took[s.what] == nil {
					took[s.what] = samples{}
				}
				d, err := b.relieve(ctx, m, s)
				if err != nil {
					return fmt.Errorf("short of %s: %w", s.what, err)
				}
				took[s.what].add(c.name, d)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, s := range kinds {
		b.add("node short of "+s.what+": threshold crossed to the pod at fault ended", "ms", took[s.what].p50(), timesPeer(0.5))
	}
	return nil
}

// relieve runs a pod that makes the node run short, and returns how long the node takes to end it.
func (b *suite) relieve(ctx context.Context, m *member, s shortage) (time.Duration, error) {
	err := poll(ctx, 50*time.Millisecond, func() (bool, error) {
		short, err := s.crossed(m)
		return !short, err
	})
	if err != nil {
		return 0, fmt.Errorf("wait until the last pod's share is free: %w", err)
	}
	p, err := b.overuse(ctx, m, s)
	if err != nil {
		return 0, err
	}
	crossed := time.Now()
	err = poll(ctx, pollGone, func() (bool, error) {
		ids, err := m.truth.running(ctx, time.Time{}, []pod{p})
		return len(ids) == 0, err
	})
	if err != nil {
		return 0, fmt.Errorf("wait until the pod is evicted: %w", err)
	}
	return time.Since(crossed), m.unbind(ctx, []pod{p})
}

// overuse posts a pod and returns it once its node runs short. A node that has not yet forgotten the last shortage refuses the
// pod; then another one is posted.
func (b *suite) overuse(ctx context.Context, m *member, s shortage) (p pod, err error) {
	posted := false
	err = poll(ctx, pollGone, func() (bool, error) {
		if !posted {
			p = b.newPods(m.column, 1)[0]
			p.image, p.command, p.args, p.once = m.rt.Image("busybox"), []string{"sh", "-c"}, []string{s.script}, true
			posted = true
			return false, m.post(ctx, p)
		}
		if short, err := s.crossed(m); short || err != nil {
			return true, err
		}
		if m.seen.hasFailed(p) {
			posted = false
			return false, m.unbind(ctx, []pod{p})
		}
		return false, m.process.Alive()
	})
	if err != nil {
		return p, fmt.Errorf("wait until the node runs short: %w", err)
	}
	return p, nil
}

func machineMemory() (int64, error) {
	var info unix.Sysinfo_t
	err := unix.Sysinfo(&info)
	return int64(info.Totalram) * int64(info.Unit), err
}

func freeDisk(dir string) (int64, error) {
	var disk unix.Statfs_t
	err := unix.Statfs(dir, &disk)
	return int64(disk.Bavail) * disk.Bsize, err
}

// mostTasks returns how many tasks the kernel allows.
func mostTasks() (least int64, err error) {
	for _, name := range []string{"/proc/sys/kernel/pid_max", "/proc/sys/kernel/threads-max"} {
		text, err := os.ReadFile(name)
		if err != nil {
			return 0, err
		}
		n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read %s: %w", name, err)
		}
		if least == 0 || n < least {
			least = n
		}
	}
	return least, nil
}

// tasks returns how many tasks there are, as kubelets count them.
func tasks() (int64, error) {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), "/")
	all, _, _ := strings.Cut(rest, " ")
	n, err := strconv.ParseInt(all, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read the number of tasks: %w", err)
	}
	return n, nil
}

// podsUse returns the memory that all pods below a cgroup use, without page cache that is easily given back.
func podsUse(parent string) (int64, error) {
	for _, at := range []struct{ dir, usage, cache string }{
		{"/sys/fs/cgroup/memory", "memory.usage_in_bytes", "total_inactive_file"}, {"/sys/fs/cgroup", "memory.current", "inactive_file"},
	} {
		dirs, err := filepath.Glob(filepath.Join(at.dir, parent, "*kubepods*"))
		if err != nil || len(dirs) == 0 {
			continue
		}
		usage, err := os.ReadFile(filepath.Join(dirs[0], at.usage))
		stat, err2 := os.ReadFile(filepath.Join(dirs[0], "memory.stat"))
		if err := errors.Join(err, err2); err != nil {
			return 0, err
		}
		n, err := strconv.ParseInt(string(bytes.TrimSpace(usage)), 10, 64)
		for line := range strings.Lines(string(stat)) {
			if cache, ok := strings.CutPrefix(line, at.cache+" "); ok {
				idle, _ := strconv.ParseInt(strings.TrimSpace(cache), 10, 64) // the kernel writes numbers
				n -= idle
			}
		}
		return n, err
	}
	return 0, fmt.Errorf("no cgroup of pods below %s", parent)
}
