package main

import (
	"path/filepath"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// smallestShares are the CPU shares that containerd gives every sandbox.
const smallestShares = 2

// newNamespaces are those that a held pod may have of its own.
var newNamespaces = map[specs.LinuxNamespaceType]uintptr{
	specs.PIDNamespace: unix.CLONE_NEWPID, specs.IPCNamespace: unix.CLONE_NEWIPC, specs.UTSNamespace: unix.CLONE_NEWUTS,
	specs.MountNamespace: unix.CLONE_NEWNS,
	// Its view of cgroups ends with the calls that could look at them.
	specs.CgroupNamespace: 0,
}

func cloneFlags(namespaces []specs.LinuxNamespace) (flags uintptr) {
	for _, n := range namespaces {
		flags |= newNamespaces[n.Type]
	}
	return flags
}

// holdable reports whether a container is a sandbox that asks for nothing but
// what hold does. runc does all else: user namespaces, labels of security
// modules, hooks, limits.
func holdable(spec *specs.Spec) bool {
	if spec.Annotations["io.kubernetes.cri.container-type"] != "sandbox" ||
		spec.Process == nil || spec.Root == nil || spec.Linux == nil || spec.Hooks != nil {
		return false
	}
	return plainProcess(spec.Process) && plainResources(spec.Linux) && plainNamespaces(spec.Linux)
}

func plainProcess(p *specs.Process) bool {
	return len(p.Args) > 0 && !p.Terminal && p.ApparmorProfile == "" && p.SelinuxLabel == "" && len(p.Rlimits) == 0 &&
		p.Scheduler == nil && p.IOPriority == nil && p.ExecCPUAffinity == nil
}

func plainResources(l *specs.Linux) bool {
	if path := l.CgroupsPath; !filepath.IsAbs(path) || filepath.Clean(path) != path || path == "/" {
		return false // the cgroup of systemd, or none
	}
	r := l.Resources
	if r == nil {
		return true
	}
	plain := r.Memory == nil && r.Pids == nil && r.BlockIO == nil && r.Network == nil && len(r.HugepageLimits) == 0 &&
		len(r.Rdma) == 0 && len(r.Unified) == 0
	return plain && plainCPU(r.CPU) && l.IntelRdt == nil
}

func plainCPU(c *specs.LinuxCPU) bool {
	return c == nil || c.Shares != nil && *c.Shares == smallestShares &&
		c.Quota == nil && c.Period == nil && c.Burst == nil && c.Idle == nil &&
		c.RealtimeRuntime == nil && c.RealtimePeriod == nil && c.Cpus == "" && c.Mems == ""
}

// plainNamespaces also looks at kernel parameters: those of a network namespace
// reach no further than the pod.
func plainNamespaces(l *specs.Linux) bool {
	has := map[specs.LinuxNamespaceType]bool{}
	for _, n := range l.Namespaces {
		_, made := newNamespaces[n.Type]
		joined := n.Type == specs.NetworkNamespace && filepath.IsAbs(n.Path)
		if !joined && !(made && n.Path == "") {
			return false
		}
		has[n.Type] = true
	}
	for key, value := range l.Sysctl {
		if !has[specs.NetworkNamespace] || !strings.HasPrefix(key, "net.") || value == "" ||
			strings.ContainsAny(key, "/\x00") || strings.Contains(key, "..") || strings.Contains(value, "\x00") {
			return false
		}
	}
	return has[specs.PIDNamespace] && has[specs.MountNamespace] && len(l.UIDMappings) == 0 && len(l.GIDMappings) == 0 &&
		l.MountLabel == "" && !strings.Contains(l.CgroupsPath, "\x00")
}
