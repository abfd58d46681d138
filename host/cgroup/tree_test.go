package cgroup

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node/limit"
)

// kernelTree is a tree of this test's own, in the kernel.
type kernelTree struct {
	*Tree
	t    *testing.T
	root string // in the kernel's tree
}

func openTree(t *testing.T, pods ...*corev1.Pod) kernelTree {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root changes cgroups")
	}
	mounts, err := FindMounts()
	if err != nil {
		t.Skip(err)
	}
	root := fmt.Sprintf("/nodal-test-%d", os.Getpid())
	k := kernelTree{t: t, root: root}
	t.Cleanup(func() {
		if err := mounts.remove(context.Background(), root); err != nil {
			t.Error(err)
		}
	})
	k.Tree = k.open(pods...)
	return k
}

// open is the next start of the agent.
func (k kernelTree) open(pods ...*corev1.Pod) *Tree {
	k.t.Helper()
	mounts, err := FindMounts()
	if err != nil {
		k.t.Fatal(err)
	}
	whole := limit.Limits{CPUShares: 2048, Memory: 1 << 30}
	tree, err := Open(k.t.Context(), Config{Mounts: mounts, Root: k.root, Whole: whole}, pods)
	if err != nil {
		k.t.Fatal(err)
	}
	return tree
}

// holds checks that the kernel knows some limits of a cgroup.
func (k kernelTree) holds(path string, want limit.Limits) {
	k.t.Helper()
	for _, s := range settings(k.mounts.Version, want) {
		for _, tree := range k.mounts.trees {
			if !slices.Contains(tree.controllers, s.controller) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(tree.dir, k.root, path, s.file))
			got := strings.TrimSpace(string(text))
			if boundless := s.value == "-1" && len(got) > 15; err != nil || got != s.value && !boundless {
				k.t.Errorf("%s of %s is %s (%v), want %s", s.file, path, got, err, s.value)
			}
		}
	}
}

func (k kernelTree) gone(path string) {
	k.t.Helper()
	if dirs := k.mounts.dirs(k.root + path); len(dirs) > 0 {
		k.t.Errorf("%q are still there", dirs)
	}
}

func (k kernelTree) setUp(pod *corev1.Pod) {
	k.t.Helper()
	if err := k.SetUp(k.t.Context(), pod, limit.OfPod(pod, limit.Rules{Pids: 64})); err != nil {
		k.t.Fatal(err)
	}
}

// put starts a process in a cgroup below a pod's, as a container runtime does.
func (k kernelTree) put(pod *corev1.Pod) *exec.Cmd {
	k.t.Helper()
	path := filepath.Join(k.Parent(pod), "container")
	if err := k.mounts.make(path); err != nil {
		k.t.Fatal(err)
	}
	sleep := exec.Command("sleep", "1000")
	if err := sleep.Start(); err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(func() { sleep.Process.Kill() })
	for _, dir := range k.mounts.dirs(path) {
		if err := write(filepath.Join(dir, "cgroup.procs"), decimal(int64(sleep.Process.Pid))); err != nil {
			k.t.Fatal(err)
		}
	}
	return sleep
}

func TestPodsAreBoundInTheKernel(t *testing.T) {
	k := openTree(t)
	best, burst, sure := podOf("u-best", nil, nil), podOf("u-burst", amounts("500m", "64Mi"), amounts("1", "128Mi")), podOf("u-sure", amounts("250m", "32Mi"), amounts("250m", "32Mi"))
	k.holds("/kubepods", limit.Limits{CPUShares: 2048, Memory: 1 << 30})
	k.holds("/kubepods/burstable", limit.Limits{CPUShares: 2})
	k.holds("/kubepods/besteffort", limit.Limits{CPUShares: 2})
	for _, pod := range []*corev1.Pod{best, burst, sure} {
		k.setUp(pod)
	}
	k.holds("/kubepods/besteffort/podu-best", limit.Limits{CPUShares: 2, Pids: 64})
	k.holds("/kubepods/burstable/podu-burst", limit.Limits{CPUShares: 512, CPUQuota: 100_000, Memory: 128 << 20, Pids: 64})
	k.holds("/kubepods/podu-sure", limit.Limits{CPUShares: 256, CPUQuota: 25_000, Memory: 32 << 20, Pids: 64})
	k.holds("/kubepods/burstable", limit.Limits{CPUShares: 512})

	// Other limits, then none.
	k.SetUp(t.Context(), burst, limit.Limits{CPUShares: 100})
	k.holds("/kubepods/burstable/podu-burst", limit.Limits{CPUShares: 100})

	for _, pod := range []*corev1.Pod{best, burst, sure} {
		if err := k.TearDown(t.Context(), pod.UID); err != nil {
			t.Error(err)
		}
	}
	k.gone("/kubepods/besteffort/podu-best")
	k.gone("/kubepods/burstable/podu-burst")
	k.gone("/kubepods/podu-sure")
	k.holds("/kubepods/burstable", limit.Limits{CPUShares: 2})
}

func TestSlicesAreMadeBySystemd(t *testing.T) {
	if _, err := os.Stat("/run/systemd/private"); err != nil || os.Getuid() != 0 {
		t.Skip("systemd does not run here, or not for us")
	}
	mounts, err := FindMounts()
	if err != nil {
		t.Fatal(err)
	}
	slice := fmt.Sprintf("nodaltest%d.slice", os.Getpid())
	tree, err := Open(t.Context(), Config{Mounts: mounts, Systemd: true, Root: slice, Whole: limit.Limits{CPUShares: 2048}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	k := kernelTree{Tree: tree, t: t, root: "/" + slice}
	t.Cleanup(func() {
		ctx := context.Background()
		if err := tree.systemd.stop(ctx, slice); err != nil {
			t.Error(err)
		}
		if err := mounts.remove(ctx, k.root); err != nil {
			t.Error(err)
		}
	})
	pod := podOf("u-1", amounts("500m", "64Mi"), amounts("1", "128Mi"))
	k.setUp(pod)
	k.setUp(pod)
	at := strings.TrimPrefix(tree.path(tree.root.child(burstable).child("podu-1")), k.root)
	want := limit.Limits{CPUShares: 512, CPUQuota: 100_000, Memory: 128 << 20, Pids: 64}
	k.holds(at, want)
	shown, err := exec.Command("systemctl", "show", "-p", "TasksMax", "--value", tree.Parent(pod)).Output()
	if got := strings.TrimSpace(string(shown)); err != nil || got != "64" {
		t.Errorf("systemd allows the pod %q processes (%v), want 64", got, err)
	}
	// It sets its known limits again.
	if err := exec.Command("systemctl", "daemon-reload").Run(); err != nil {
		t.Fatal(err)
	}
	k.holds(at, want)
	if err := tree.TearDown(t.Context(), pod.UID); err != nil {
		t.Error(err)
	}
	k.gone(at)
}

func TestBurstablePodsWeighAsMuchAsTheyRequest(t *testing.T) {
	first, second := podOf("u1", amounts("500m", "1Mi"), nil), podOf("u2", amounts("1", "1Mi"), nil)
	k := openTree(t, first)
	k.holds("/kubepods/burstable", limit.Limits{CPUShares: 512})
	k.setUp(second)
	k.setUp(second)
	k.holds("/kubepods/burstable", limit.Limits{CPUShares: 1536})
	if err := k.TearDown(t.Context(), first.UID); err != nil {
		t.Error(err)
	}
	k.holds("/kubepods/burstable", limit.Limits{CPUShares: 1024})
}

// What the kernel keeps for a cgroup counts only as far as it keeps as much for those above.
func TestTheClassesOfPodsKeepTheMemoryOfTheirPods(t *testing.T) {
	const mebi = 1 << 20
	best, burst, sure := podOf("u1", nil, nil), podOf("u2", amounts("1", "64Mi"), nil), podOf("u3", amounts("1", "32Mi"), amounts("1", "32Mi"))
	tree := newTree(Config{Keep: true, Whole: limit.Limits{Memory: 1 << 30}})
	has := func(what string, class name, want string) {
		t.Helper()
		if got := tree.shared(class).Guard(); got != want {
			t.Errorf("%s: the cgroup has %q, want %q", what, got, want)
		}
	}
	all, soft := tree.root, tree.root.child(burstable)
	for _, pod := range []*corev1.Pod{best, burst, sure, burst} {
		tree.note(pod.UID, entryOf(pod))
	}
	has("all pods", all, "memory.min=100663296 memory.low=67108864")
	has("burstable pods", soft, "memory.low=67108864")
	has("best effort", tree.root.child(bestEffort), "")
	if guaranteed, low := tree.Kept(); guaranteed != 32*mebi || low != 64*mebi {
		t.Errorf("guaranteed pods are kept %d bytes and burstable ones %d, want 32Mi and 64Mi", guaranteed, low)
	}
	tree.note(burst.UID, entryOf(podOf("u2", amounts("1", "16Mi"), nil)))
	has("after a resize", soft, "memory.low=16777216")
	tree.forget(burst.UID)
	tree.forget(burst.UID)
	has("once the pod is gone", soft, "")
	has("all that are left", all, "memory.min=33554432")
	tree.keep = false
	has("a node that keeps nothing", all, "")
}

func TestAClassMayUseWhatTheBetterOnesLeave(t *testing.T) {
	const mebi = 1 << 20
	burst, sure := podOf("u2", amounts("1", "64Mi"), nil), podOf("u3", amounts("1", "32Mi"), amounts("1", "32Mi"))
	for _, c := range []struct {
		name             string
		memory, percent  int64
		burst, best, all int64
	}{
		{"nothing is reserved", 1024 * mebi, 0, 0, 0, 512 * mebi},
		{"all of it", 1024 * mebi, 100, 992 * mebi, 928 * mebi, 512 * mebi},
		{"half of it", 1024 * mebi, 50, 1008 * mebi, 976 * mebi, 512 * mebi},
		{"more is requested than there is", 64 * mebi, 100, 32 * mebi, leastMemory, 512 * mebi},
		{"a machine that does not tell its memory", 0, 100, 0, 0, 512 * mebi},
	} {
		tree := newTree(Config{Reserve: c.percent, Memory: c.memory, Whole: limit.Limits{Memory: 512 * mebi}})
		for _, pod := range []*corev1.Pod{burst, sure} {
			tree.note(pod.UID, entryOf(pod))
		}
		root := tree.root
		got := [3]int64{tree.shared(root.child(burstable)).Memory, tree.shared(root.child(bestEffort)).Memory, tree.shared(root).Memory}
		if want := [3]int64{c.burst, c.best, c.all}; got != want {
			t.Errorf("%s: burstable, best-effort and all pods may use %v, want %v", c.name, got, want)
		}
	}
}

func TestReservedMemoryIsInTheKernel(t *testing.T) {
	k := openTree(t)
	whole := limit.Limits{CPUShares: 2048, Memory: 1 << 30}
	tree, err := Open(t.Context(), Config{Mounts: k.mounts, Root: k.root, Whole: whole, Memory: 1 << 30, Reserve: 50}, nil)
	if err != nil {
		t.Fatal(err)
	}
	k.Tree = tree
	sure := podOf("u-sure", amounts("1", "64Mi"), amounts("1", "64Mi"))
	k.setUp(sure)
	k.holds("/kubepods/burstable", limit.Limits{CPUShares: 2, Memory: 1<<30 - 32<<20})
	k.holds("/kubepods/besteffort", limit.Limits{CPUShares: 2, Memory: 1<<30 - 32<<20})
	if err := k.Hold(t.Context(), whole, 512<<20); err != nil {
		t.Fatal(err)
	}
	k.holds("/kubepods/besteffort", limit.Limits{CPUShares: 2, Memory: 512<<20 - 32<<20})
	if err := k.TearDown(t.Context(), sure.UID); err != nil {
		t.Error(err)
	}
	k.holds("/kubepods/burstable", limit.Limits{CPUShares: 2, Memory: 512 << 20})
}

func TestKeptMemoryIsInTheKernel(t *testing.T) {
	burst, sure := podOf("u-burst", amounts("1", "64Mi"), nil), podOf("u-sure", amounts("1", "32Mi"), amounts("1", "32Mi"))
	k := openTree(t)
	if k.mounts.Version != 2 {
		t.Skip("version 1 of cgroups keeps no memory")
	}
	whole := limit.Limits{CPUShares: 2048, Memory: 1 << 30}
	open := func(keep bool, pods ...*corev1.Pod) {
		t.Helper()
		tree, err := Open(t.Context(), Config{Mounts: k.mounts, Root: k.root, Whole: whole, Keep: keep}, pods)
		if err != nil {
			t.Fatal(err)
		}
		k.Tree = tree
	}
	rules := limit.Rules{Memory: limit.Memory{Keep: true}}
	open(true)
	for _, pod := range []*corev1.Pod{burst, sure} {
		if err := k.SetUp(t.Context(), pod, limit.OfPod(pod, rules)); err != nil {
			t.Fatal(err)
		}
	}
	kept := whole
	kept.MemoryMin, kept.MemoryLow = 96<<20, 64<<20
	k.holds("/kubepods", kept)
	k.holds("/kubepods/burstable", limit.Limits{CPUShares: 1024, MemoryLow: 64 << 20})
	k.holds("/kubepods/burstable/podu-burst", limit.OfPod(burst, rules))
	k.holds("/kubepods/podu-sure", limit.OfPod(sure, rules))
	open(false, burst, sure)
	k.holds("/kubepods", whole)
	k.holds("/kubepods/burstable", limit.Limits{CPUShares: 1024})
}

func TestAllPodsTogetherAreHeldToOtherLimits(t *testing.T) {
	k := openTree(t)
	k.holds("/kubepods", limit.Limits{CPUShares: 2048, Memory: 1 << 30})
	less := limit.Limits{CPUShares: 1024, Memory: 1 << 29}
	if err := k.Hold(t.Context(), less, 0); err != nil {
		t.Fatal(err)
	}
	k.holds("/kubepods", less)
}

func TestProcessesLeftInAPodsCgroupEndWithIt(t *testing.T) {
	k := openTree(t)
	pod, neighbour := podOf("u1", nil, nil), podOf("u2", nil, nil)
	k.setUp(pod)
	k.setUp(neighbour)
	left, other := k.put(pod), k.put(neighbour)
	if err := k.TearDown(t.Context(), pod.UID); err != nil {
		t.Fatal(err)
	}
	k.gone("/kubepods/besteffort/podu1")
	if err := left.Wait(); err == nil || left.ProcessState.String() != "signal: killed" {
		t.Errorf("what was left ended with %v", left.ProcessState)
	}
	if err := other.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the neighbour is gone too: %v", err)
	}
	if err := k.TearDown(t.Context(), pod.UID); err != nil {
		t.Errorf("a second time: %v", err)
	}
	if err := k.TearDown(t.Context(), neighbour.UID); err != nil {
		t.Error(err)
	}
	other.Wait()
}

func TestRemovedCgroupsAreMadeAgain(t *testing.T) {
	k := openTree(t)
	if err := k.mounts.remove(t.Context(), k.root); err != nil {
		t.Fatal(err)
	}
	k.setUp(podOf("u1", nil, nil))
	k.holds("/kubepods", limit.Limits{CPUShares: 2048, Memory: 1 << 30})
	k.holds("/kubepods/besteffort", limit.Limits{CPUShares: 2})
	k.holds("/kubepods/besteffort/podu1", limit.Limits{CPUShares: 2, Pids: 64})
}

func TestSweepRemovesUnkeptCgroups(t *testing.T) {
	k := openTree(t)
	kept, orphan, running := podOf("u-kept", nil, nil), podOf("u-orphan", amounts("1", "1Mi"), nil), podOf("u-running", nil, nil)
	for _, pod := range []*corev1.Pod{kept, orphan, running} {
		k.setUp(pod)
	}
	left := k.put(orphan)
	k.Tree = k.open(running) // which knows of nothing else
	if err := k.Sweep(t.Context(), func(uid types.UID) bool { return uid == kept.UID }); err != nil {
		t.Fatal(err)
	}
	k.gone("/kubepods/burstable/podu-orphan")
	left.Wait()
	k.holds("/kubepods/besteffort/podu-kept", limit.Limits{CPUShares: 2, Pids: 64})
	k.holds("/kubepods/besteffort/podu-running", limit.Limits{CPUShares: 2, Pids: 64})
}

// Another kubelet has its pods in cgroups of the same names.
func TestSweepEndsNothingOfOthers(t *testing.T) {
	k := openTree(t)
	theirs, ours, empty := podOf("u-theirs", nil, nil), podOf("u-ours", nil, nil), podOf("u-empty", nil, nil)
	for _, pod := range []*corev1.Pod{theirs, ours, empty} {
		k.setUp(pod)
	}
	running, left := k.put(theirs), k.put(ours)
	k.Tree = k.open()
	k.Tree.ours = func(uid types.UID) bool { return uid == ours.UID }
	listed, err := k.Garbage(t.Context(), func(types.UID) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	kept := map[string]bool{}
	for _, g := range listed {
		kept[path.Base(g.Name)] = g.Kept != ""
	}
	if want := map[string]bool{"podu-theirs": true, "podu-ours": false, "podu-empty": false}; !maps.Equal(kept, want) {
		t.Errorf("listed, and kept, are %v, want %v", kept, want)
	}
	if err := k.Sweep(t.Context(), func(types.UID) bool { return false }); err != nil {
		t.Fatal(err)
	}
	left.Wait()
	k.gone("/kubepods/besteffort/podu-ours")
	k.gone("/kubepods/besteffort/podu-empty")
	k.holds("/kubepods/besteffort/podu-theirs", limit.Limits{CPUShares: 2, Pids: 64})
	for _, dir := range k.mounts.dirs(k.root + "/kubepods/besteffort/podu-theirs/container") {
		if got := processesIn(dir); !slices.Contains(got, running.Process.Pid) {
			t.Errorf("in %s are %v, want process %d", dir, got, running.Process.Pid)
		}
	}
}
