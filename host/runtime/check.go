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

	"golang.org/x/sys/unix"
)

// Finding is one thing that a machine needs to run containers.
type Finding struct {
	Name     string
	OK       bool
	Required bool   // without it no pod runs; else only what Problem names does not work
	Problem  string // empty if OK
	Remedy   string
}

// check looks at one thing and returns what is wrong with it.
type check struct {
	name     string
	required bool
	remedy   string
	look     func() error
	trial    bool // it takes time, to make something and take it away again or to run a program
}

// leastSpace is what an unpacked runtime and a few small images take.
const leastSpace = 512 << 20

// Check looks at all that a machine needs, and leaves it as it was.
func Check(ctx context.Context, c Config) []Finding { return look(ctx, c, true) }

// look leaves out what takes time, unless it is asked for.
func look(ctx context.Context, c Config, trials bool) []Finding {
	l, err := newLayout(c.RootDir, c.StateDir)
	if err != nil {
		return []Finding{{Name: "directories", Required: true, Problem: err.Error(), Remedy: "give other directories"}}
	}
	if os.Geteuid() != 0 {
		// What root may do cannot be tried without being root.
		return []Finding{{Name: "root", Required: true, Problem: "this process is not root", Remedy: "start it as root (with sudo, or from the systemd unit)"}}
	}
	checks := slices.DeleteFunc(l.checks(ctx, c), func(k check) bool { return k.trial && !trials })
	findings := make([]Finding, len(checks))
	var group sync.WaitGroup
	for i, k := range checks {
		group.Go(func() {
			findings[i] = Finding{Name: k.name, OK: true, Required: k.required}
			if err := k.look(); err != nil {
				findings[i] = Finding{Name: k.name, Required: k.required, Problem: err.Error(), Remedy: k.remedy}
			}
		})
	}
	group.Wait()
	return findings
}

func (l layout) checks(ctx context.Context, c Config) []check {
	all := []check{
		{"capabilities", true, "start it with all capabilities: a container needs --privileged for that", capabilities, false},
		{"overlay", true, "load the kernel module overlay, and put the root directory on a file system that may hold an overlay's layers (ext4, xfs, btrfs; not overlay itself)", l.tryOverlay, true},
		{"cgroups", true, "boot with cgroups: mount cgroup2 on /sys/fs/cgroup, and drop cgroup_disable= from the kernel's command line", cgroups, false},
		{"namespaces", true, "use a kernel with CONFIG_NET_NS, CONFIG_BRIDGE and CONFIG_VETH, or load the kernel modules bridge and veth", tryNetwork, true},
		{"sysctl", true, "mount /proc/sys writable", writableSysctl, false},
		{"nftables", true, "use a kernel with CONFIG_NF_TABLES and CONFIG_NFT_MASQ, or load the kernel modules nf_tables and nft_masq", func() error { return tryNftables(l.nftable()) }, true},
		{"host ports", false, "install nft, or an iptables that works here", func() error { return portmapTool(portBackend(ctx, l.earlier().ports)) }, true},
		{"forwarding", false, letForward(l.bridge()), func() error { return forwarding(l.bridge()) }, false},
		{"hosts file", true, "write one: echo 127.0.0.1 localhost >" + hostsFile, hosts, false},
		{"disk space", true, "free some space, or put the root directory on another disk", l.space, false},
		{"seccomp", false, "use a kernel with CONFIG_SECCOMP_FILTER", seccomp, false},
	}
	if len(c.Index) == 0 {
		look := func() error {
			_, err := newHostDirs().find()
			return err
		}
		all = append(all, check{"programs", true, "as the problem says", look, false})
	}
	return all
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
	for name, bit := range map[string]int{"CAP_SYS_ADMIN": unix.CAP_SYS_ADMIN, "CAP_NET_ADMIN": unix.CAP_NET_ADMIN, "CAP_MKNOD": unix.CAP_MKNOD} {
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

// tryOverlay mounts one: a kernel that knows overlay may still refuse this file
// system as its upper layer.
func (l layout) tryOverlay() (err error) {
	parent := existing(l.root)
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

// existing is the nearest directory above path, or path, that is there.
func existing(path string) string {
	for path != "/" {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			break
		}
		path = filepath.Dir(path)
	}
	return path
}

// cgroups wants the controllers without which no limit of a pod would hold.
func cgroups() error {
	have := map[string]bool{}
	unified, err := os.ReadFile("/sys/fs/cgroup/cgroup.controllers")
	if err == nil {
		for name := range strings.FieldsSeq(string(unified)) {
			have[name] = true
		}
	}
	for _, m := range mounts() {
		if m.kind == "cgroup" {
			for name := range strings.SplitSeq(m.options, ",") {
				have[name] = true
			}
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

func writableSysctl() error {
	f, err := os.OpenFile(filepath.Join(procNet, "ipv4/ip_forward"), os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("open a sysctl to write: %w", err)
	}
	return f.Close()
}

func tryNftables(name string) error {
	trial := name + "-trial"
	if err := masquerade(trial, nil); err != nil {
		return err
	}
	return removeMasquerade(trial)
}

// portmapTool looks for the program that the portmap plugin will run.
func portmapTool(backend string) error {
	program := portPrograms()[backend]
	if findProgram(program, newHostDirs().programs) == "" {
		return fmt.Errorf("host ports would be opened by %s, which is not installed: pods with a hostPort will not start", program)
	}
	return nil
}

const hostsFile = "/etc/hosts"

// hosts wants the file that containerd copies for each sandbox.
func hosts() error {
	_, err := os.Stat(hostsFile)
	return err
}

func (l layout) space() error {
	var fs unix.Statfs_t
	dir := existing(l.root)
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
