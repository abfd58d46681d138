package noderuntime

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/test/rig"
)

// The kernel's words for a process without any right.
var powerless = []string{
	"CapInh:\t0000000000000000", "CapPrm:\t0000000000000000", "CapEff:\t0000000000000000", "CapBnd:\t0000000000000000",
	"CapAmb:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2",
}

func TestAPodIsHeldByAProcessWithoutRights(t *testing.T) {
	n := newNode(t)
	r := n.start()
	defer r.Close()
	n.needsHold()
	sandbox, container := n.pod("a")
	pid := n.holder(sandbox)
	status := n.ofProcess(pid, "status")
	for _, line := range powerless {
		if !strings.Contains(status, line+"\n") {
			t.Errorf("the process that holds the pod has no line %q in\n%s", line, status)
		}
	}
	root, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "root"))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range root {
		if entry.Name() == "var" || entry.Name() == "proc" {
			t.Errorf("the process that holds the pod sees /%s", entry.Name())
		}
	}
	if mounts := strings.Fields(n.ofProcess(pid, "mounts")); len(mounts) != 6 || !strings.HasPrefix(mounts[3], "ro,") {
		t.Errorf("the process that holds the pod sees mounts %q, want one that is read-only", mounts)
	}
	files, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "fd"))
	if err != nil || len(files) != 0 {
		t.Errorf("the process that holds the pod has open files %v, %v", files, err)
	}
	n.sameNamespaces(pid, container, "net", "ipc", "uts")
}

// A shim may be killed, as by the kernel when memory runs out.
func TestAHeldPodEndsWithItsShim(t *testing.T) {
	n := newNode(t)
	r := n.start()
	defer r.Close()
	n.needsHold()
	sandbox, _ := n.pod("a")
	pid := n.holder(sandbox)
	groups := n.cgroups(pid)
	kill(t, n.parent(pid))
	until(t, "the sandbox is lost", func() bool {
		reply, err := n.cri.PodSandboxStatus(t.Context(), &runtimeapi.PodSandboxStatusRequest{PodSandboxId: sandbox})
		return err == nil && reply.Status.State == runtimeapi.PodSandboxState_SANDBOX_NOTREADY
	})
	until(t, "the process that held it and its cgroups are gone", func() bool {
		_, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid)))
		for _, dir := range groups {
			_, there := os.Stat(dir)
			err = errors.Join(err, there)
			if there == nil {
				return false
			}
		}
		return errors.Is(err, fs.ErrNotExist)
	})
	until(t, "the lost sandbox is removed", func() bool { return n.removeLost(sandbox) == nil })
	n.removeCgroups("a")
	n.removeAllCgroups()
}

// removeLost removes a sandbox, as an agent tries again and again: containerd learns of each container's end by itself.
func (n *node) removeLost(sandbox string) error {
	ctx := n.t.Context()
	if _, err := n.cri.StopPodSandbox(ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: sandbox}); err != nil {
		return err
	}
	_, err := n.cri.RemovePodSandbox(ctx, &runtimeapi.RemovePodSandboxRequest{PodSandboxId: sandbox})
	return err
}

// removeAllCgroups removes the cgroup of all pods, of which cleaning learns from pods that are left.
func (n *node) removeAllCgroups() {
	n.t.Helper()
	for _, tree := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/*"} {
		dirs, _ := filepath.Glob(tree + "/kubepods-nodal-runtime") // the pattern is well-formed
		for _, dir := range dirs {
			must(n.t, os.Remove(dir))
		}
	}
}

// needsHold skips a test where runc runs the sandbox: on the machine's containerd, and below systemd.
func (n *node) needsHold() {
	n.t.Helper()
	if len(n.config.Index) == 0 {
		n.t.Skip("the machine's containerd runs pods; " + rig.BundleEnv + " names the bundle")
	}
	if n.driver == "systemd" {
		n.t.Skip("systemd makes the cgroups of sandboxes, so runc runs them")
	}
}

// holder returns the process that holds a pod, and checks that it is the bundle's program.
func (n *node) holder(sandbox string) int {
	n.t.Helper()
	reply, err := n.cri.PodSandboxStatus(n.t.Context(), &runtimeapi.PodSandboxStatusRequest{PodSandboxId: sandbox, Verbose: true})
	if err != nil {
		n.t.Fatalf("sandbox status: %v", err)
	}
	var info struct{ Pid int }
	if err := json.Unmarshal([]byte(reply.Info["info"]), &info); err != nil {
		n.t.Fatalf("sandbox status: %v", err)
	}
	program, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(info.Pid), "exe"))
	if err != nil || filepath.Base(program) != "hold" {
		n.t.Fatalf("the pod is held by %q (%v), want the program of the bundle", program, err)
	}
	return info.Pid
}

func (n *node) ofProcess(pid int, name string) string {
	n.t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), name))
	if err != nil {
		n.t.Fatal(err)
	}
	return string(text)
}

func (n *node) parent(pid int) int {
	n.t.Helper()
	_, after, _ := strings.Cut(n.ofProcess(pid, "status"), "PPid:\t")
	line, _, _ := strings.Cut(after, "\n")
	parent, err := strconv.Atoi(line)
	if err != nil {
		n.t.Fatal(err)
	}
	return parent
}

// cgroups lists the directories of a process's cgroups that are not shared with all.
func (n *node) cgroups(pid int) (dirs []string) {
	n.t.Helper()
	for line := range strings.Lines(n.ofProcess(pid, "cgroup")) {
		part := strings.SplitN(strings.TrimSpace(line), ":", 3)
		dir := filepath.Join("/sys/fs/cgroup", strings.TrimPrefix(part[1], "name="), part[2])
		if strings.Contains(part[2], "kubepods-nodal-runtime") {
			dirs = append(dirs, dir)
		}
	}
	if len(dirs) == 0 {
		n.t.Fatal("the process that holds the pod has no cgroup of its own")
	}
	return dirs
}

// sameNamespaces checks that a container is in the namespaces that a process holds.
func (n *node) sameNamespaces(pid int, container string, names ...string) {
	n.t.Helper()
	for _, name := range names {
		held, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "ns", name))
		if err != nil {
			n.t.Fatal(err)
		}
		reply, err := n.cri.ExecSync(n.t.Context(), &runtimeapi.ExecSyncRequest{
			ContainerId: container, Cmd: []string{"readlink", "/proc/self/ns/" + name}, Timeout: 60,
		})
		if err != nil || strings.TrimSpace(string(reply.Stdout)) != held {
			n.t.Errorf("the container's %s namespace is %q (%v), want %s", name, reply.GetStdout(), err, held)
		}
	}
}

func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	begin := time.Now()
	defer func() { t.Logf("%s after %v", what, time.Since(begin).Round(time.Millisecond)) }()
	for end := time.Now().Add(2 * time.Minute); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not so: %s", what)
		}
	}
}
