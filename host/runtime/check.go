package runtime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"nodal/node"
)

// Finding is one thing that a machine needs to run containers.
type Finding struct {
	Name     string
	OK       bool
	Required bool   // no pod runs without it; else only the feature that Problem names is missing
	Problem  string // empty if OK
	Remedy   string
}

// leastSpace fits an unpacked runtime and a few small images.
const leastSpace = 512 << 20

// Check looks at all that a machine needs, and leaves it as it was.
func Check(ctx context.Context, c Config) []Finding { return look(ctx, c, true) }

// look runs all checks in parallel, the trials only if asked to.
func look(ctx context.Context, c Config, trials bool) []Finding {
	l, err := newLayout(c)
	if err != nil {
		return []Finding{{
			Name: "directories", Required: true, Problem: err.Error(), Remedy: "give other directories",
		}}
	}
	if os.Geteuid() != 0 {
		// The other checks would all fail for the same reason.
		return []Finding{{
			Name: "root", Required: true, Problem: "this process is not root",
			Remedy: "start it as root (with sudo, or from the systemd unit)",
		}}
	}
	checks := slices.DeleteFunc(l.checks(ctx, c), func(k node.Check) bool { return k.Trial && !trials })
	findings := make([]Finding, len(checks))
	var group sync.WaitGroup
	for i, k := range checks {
		group.Go(func() {
			findings[i] = Finding{Name: k.Name, OK: true, Required: k.Required}
			if err := k.Look(); err != nil {
				findings[i] = Finding{Name: k.Name, Required: k.Required, Problem: err.Error(), Remedy: k.Remedy}
			}
		})
	}
	group.Wait()
	return findings
}

// checks lists the checks of the runtime and, among them, those of the network.
func (l layout) checks(ctx context.Context, c Config) []node.Check {
	kernel := []node.Check{
		{
			Name: "capabilities", Required: true, Look: capabilities,
			Remedy: "start it with all capabilities: a container needs --privileged for that",
		},
		{
			Name: "overlay", Required: true, Trial: true, Look: func() error { return tryOverlay(existing(l.root)) },
			Remedy: "load the kernel module overlay, and put the root directory on a file system that may hold " +
				"an overlay's layers (ext4, xfs, btrfs; not overlay itself)",
		},
		{
			Name: "cgroups", Required: true, Look: cgroups,
			Remedy: "boot with cgroups: mount cgroup2 on /sys/fs/cgroup, " +
				"and drop cgroup_disable= from the kernel's command line",
		},
	}
	host := []node.Check{
		{Name: "hosts file", Required: true, Look: hosts, Remedy: "create it: echo 127.0.0.1 localhost >" + hostsFile},
		l.spaceCheck(),
		{Name: "seccomp", Look: seccomp, Remedy: "use a kernel with CONFIG_SECCOMP_FILTER"},
	}
	if len(c.Index) == 0 {
		host = append(host, node.Check{Name: "programs", Required: true, Remedy: "install the missing programs", Look: findAll})
	}
	return slices.Concat(kernel, c.Network.Checks(ctx), host)
}

// spaceCheck looks whether a first start has the space that it needs. Later ones do not: an agent that did not start on a
// full disk could not tidy it.
func (l layout) spaceCheck() node.Check {
	return node.Check{
		Name: "disk space", Required: !isDir(l.content()), Look: func() error { return space(existing(l.root)) },
		Remedy: "free some space, or put the root directory on another disk",
	}
}

// findAll looks for the programs of the host.
func findAll() error {
	_, err := newHostDirs().find()
	return err
}

// required turns the findings without which no pod runs into one error.
func required(findings []Finding) error {
	var problems []string
	for _, f := range findings {
		if f.Required && !f.OK {
			problems = append(problems, fmt.Sprintf("%s: %s (%s)", f.Name, f.Problem, f.Remedy))
		}
	}
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("this machine cannot run containers: %s", strings.Join(problems, "; "))
}

func capabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return fmt.Errorf("read own capabilities: %w", err)
	}
	var lacks []string
	for name, bit := range map[string]int{
		"CAP_SYS_ADMIN": unix.CAP_SYS_ADMIN, "CAP_NET_ADMIN": unix.CAP_NET_ADMIN, "CAP_MKNOD": unix.CAP_MKNOD,
	} {
		if sets[bit/32].Effective&(1<<(bit%32)) == 0 {
			lacks = append(lacks, name)
		}
	}
	if len(lacks) > 0 {
		slices.Sort(lacks)
		return fmt.Errorf("this process lacks %s", strings.Join(lacks, ", "))
	}
	return nil
}

// tryOverlay mounts one below a directory: a kernel that knows overlay may still refuse this file system as its upper
// layer.
func tryOverlay(parent string) (err error) {
	dir, err := os.MkdirTemp(parent, ".overlay-")
	if err != nil {
		return fmt.Errorf("make a directory to try an overlay in: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for _, name := range []string{"lower", "upper", "work", "merged"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			return fmt.Errorf("make a directory to try an overlay in: %w", err)
		}
	}
	options := fmt.Sprintf("lowerdir=%[1]s/lower,upperdir=%[1]s/upper,workdir=%[1]s/work", dir)
	merged := filepath.Join(dir, "merged")
	if err := unix.Mount("overlay", merged, "overlay", 0, options); err != nil {
		return fmt.Errorf("mount an overlay below %s: %w", parent, err)
	}
	if err := unix.Unmount(merged, unix.MNT_DETACH); err != nil {
		return fmt.Errorf("unmount the overlay %s: %w", merged, err)
	}
	return nil
}

// existing returns path, or the nearest directory above it that exists.
func existing(path string) string {
	for path != "/" {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			break
		}
		path = filepath.Dir(path)
	}
	return path
}

// cgroups looks for the controllers that hold pods to their limits.
func cgroups() error {
	have := map[string]bool{}
	unified, err := os.ReadFile("/sys/fs/cgroup/cgroup.controllers")
	if err == nil {
		for name := range strings.FieldsSeq(string(unified)) {
			have[name] = true
		}
	}
	trees, err := mountinfo.GetMounts(mountinfo.FSTypeFilter("cgroup"))
	if err != nil {
		return fmt.Errorf("look for mounted cgroups: %w", err)
	}
	for _, m := range trees {
		for name := range strings.SplitSeq(m.VFSOptions, ",") {
			have[name] = true
		}
	}
	var lacks []string
	for _, name := range []string{"cpu", "memory", "pids"} {
		if !have[name] {
			lacks = append(lacks, name)
		}
	}
	if len(lacks) > 0 {
		return fmt.Errorf("no cgroup controller for %s", strings.Join(lacks, ", "))
	}
	return nil
}

const hostsFile = "/etc/hosts"

// hosts looks for the file that containerd copies for each sandbox.
func hosts() error {
	_, err := os.Stat(hostsFile)
	return err
}

func space(dir string) error {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return fmt.Errorf("look at the disk of %s: %w", dir, err)
	}
	if free := fs.Bavail * uint64(fs.Bsize); free < leastSpace {
		return fmt.Errorf("%d MiB are free below %s, and %d are needed", free>>20, dir, leastSpace>>20)
	}
	return nil
}

func seccomp() error {
	raw, err := os.ReadFile("/proc/sys/kernel/seccomp/actions_avail")
	if err != nil || len(strings.Fields(string(raw))) == 0 {
		return errors.New("this kernel filters no system calls: every container runs unconfined")
	}
	return nil
}
