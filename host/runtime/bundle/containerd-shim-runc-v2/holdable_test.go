package main

import (
	"bytes"
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

func pointer[T any](v T) *T { return &v }

// plain is the sandbox of a pod that asks for nothing special.
func plain() *specs.Spec {
	return &specs.Spec{
		Annotations: map[string]string{"io.kubernetes.cri.container-type": "sandbox"},
		Process:     &specs.Process{Args: []string{"/pause"}, User: specs.User{UID: 1, GID: 2}},
		Root:        &specs.Root{Path: "rootfs"}, Hostname: "web",
		Linux: &specs.Linux{
			CgroupsPath: "/kubepods/pod1/id", Sysctl: map[string]string{"net.ipv4.ping_group_range": "0 1"},
			Resources: &specs.LinuxResources{CPU: &specs.LinuxCPU{Shares: pointer(uint64(2))}},
			Namespaces: []specs.LinuxNamespace{
				{Type: specs.PIDNamespace}, {Type: specs.IPCNamespace}, {Type: specs.UTSNamespace},
				{Type: specs.MountNamespace}, {Type: specs.NetworkNamespace, Path: "/run/netns/1"},
			},
		},
	}
}

func TestSandboxesThatAskForNothingSpecialAreHeld(t *testing.T) {
	if !holdable(plain()) {
		t.Error("a plain sandbox is not")
	}
	for what, change := range map[string]func(*specs.Spec){
		"a container":                    func(s *specs.Spec) { s.Annotations = nil },
		"hooks":                          func(s *specs.Spec) { s.Hooks = &specs.Hooks{} },
		"a label of SELinux":             func(s *specs.Spec) { s.Process.SelinuxLabel = "l" },
		"a mount label of SELinux":       func(s *specs.Spec) { s.Linux.MountLabel = "l" },
		"a profile of AppArmor":          func(s *specs.Spec) { s.Process.ApparmorProfile = "p" },
		"a cgroup of systemd":            func(s *specs.Spec) { s.Linux.CgroupsPath = "pods.slice:cri:id" },
		"a cgroup elsewhere":             func(s *specs.Spec) { s.Linux.CgroupsPath = "/kubepods/../id" },
		"a limit of memory":              func(s *specs.Spec) { s.Linux.Resources.Memory = &specs.LinuxMemory{} },
		"more CPU":                       func(s *specs.Spec) { s.Linux.Resources.CPU.Shares = pointer(uint64(3)) },
		"a set of CPUs":                  func(s *specs.Spec) { s.Linux.Resources.CPU.Cpus = "0" },
		"the processes of the host":      func(s *specs.Spec) { s.Linux.Namespaces = s.Linux.Namespaces[1:] },
		"another pod's IPC":              func(s *specs.Spec) { s.Linux.Namespaces[1].Path = "/proc/1/ns/ipc" },
		"a user namespace":               func(s *specs.Spec) { s.Linux.UIDMappings = []specs.LinuxIDMapping{{Size: 1}} },
		"a parameter of the host":        func(s *specs.Spec) { s.Linux.Sysctl["kernel.panic"] = "1" },
		"a parameter by a path":          func(s *specs.Spec) { s.Linux.Sysctl["net.../kernel/panic"] = "1" },
		"a parameter of another network": func(s *specs.Spec) { s.Linux.Namespaces = s.Linux.Namespaces[:4] },
	} {
		spec := plain()
		change(spec)
		if holdable(spec) {
			t.Errorf("a sandbox with %s is", what)
		}
	}
}

func TestOnTheHostsNetworkAPodKeepsTheHostsName(t *testing.T) {
	spec := plain()
	spec.Linux.Sysctl = nil
	spec.Linux.Namespaces = []specs.LinuxNamespace{{Type: specs.PIDNamespace}, {Type: specs.MountNamespace}}
	if !holdable(spec) {
		t.Error("the pod is not held")
	}
	if got := instructions("/b", spec); !bytes.HasSuffix(got, []byte("\x00\x00\x00/b/rootfs\x00")) || len(got) != 8+18 {
		t.Errorf("got %q", got)
	}
	if got := cloneFlags(spec.Linux.Namespaces); got != unix.CLONE_NEWPID|unix.CLONE_NEWNS {
		t.Errorf("got flags %x", got)
	}
}

func TestInstructionsNameWhatIsMadeReady(t *testing.T) {
	got := instructions("/b", plain())
	want := "pause\x00/run/netns/1\x00web\x00/b/rootfs\x00/proc/sys/net/ipv4/ping_group_range\x000 1\x00"
	if string(got[8:]) != want {
		t.Errorf("got %q, want %q", got[8:], want)
	}
}

func TestAReportTellsTheStepThatFailed(t *testing.T) {
	if err := readReport(strings.NewReader("\x00")); err != nil {
		t.Errorf("held, but %v", err)
	}
	err := readReport(strings.NewReader("\x02enter the network namespace"))
	if !errors.Is(err, syscall.ENOENT) || !strings.HasPrefix(err.Error(), "enter the network namespace: ") {
		t.Errorf("got %v", err)
	}
	if err := readReport(strings.NewReader("")); err == nil {
		t.Error("a program that says nothing is taken for one that holds")
	}
}
