package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"nodal/test/pace"
	"nodal/test/rig"
)

// areaEnv names a swap area that a test may turn on: test/vm's machine has one.
const areaEnv = "NODAL_SWAP"

// swapOn turns swap on until the test ends, and returns the sizes of memory and swap.
func swapOn(t *testing.T) (memory, swap int64) {
	t.Helper()
	area := os.Getenv(areaEnv)
	if area == "" {
		t.Skip("it has the machine swap: test/vm/tests.sh test/e2e has one that may, with cgroup v2")
	}
	swapping := func(command string) {
		if out, err := exec.Command(command, area).CombinedOutput(); err != nil {
			t.Fatalf("%s %s: %v: %s", command, area, err, out)
		}
	}
	swapping("swapon")
	t.Cleanup(func() { swapping("swapoff") })
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		t.Fatal(err)
	}
	return int64(info.Totalram) * int64(info.Unit), int64(info.Totalswap) * int64(info.Unit)
}

// sharers is a burstable pod; only its first container may swap.
const sharers = `---
apiVersion: v1
kind: Pod
metadata: {name: burst}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: part, image: nodal.test/probe:1, args: [pause], resources: {requests: {cpu: 100m, memory: 24Mi}, limits: {memory: 32Mi}}}
  - {name: same, image: nodal.test/probe:1, args: [pause], resources: {requests: {memory: 24Mi}, limits: {memory: 24Mi}}}
  - {name: none, image: nodal.test/probe:1, args: [pause], resources: {requests: {cpu: 10m}}}
`

// holding returns a pod whose program holds this much memory while it runs.
func holding(name, amount string) string {
	return adding(shell(name, "dd if=/dev/zero bs="+amount+" count=1 2>/dev/null | sleep 1000"),
		"resources: {requests: {memory: 24Mi}, limits: {memory: 32Mi}}")
}

// TestContainersSwapWithinTheirShare runs alone: no other node starts while the machine swaps.
func TestContainersSwapWithinTheirShare(t *testing.T) {
	memory, swap := swapOn(t)
	n := prepareOn(t, rig.Containerd(t))
	n.refusesToStart("failSwapOn")
	n.Settings["failSwapOn"] = false
	n.Settings["memorySwap"] = map[string]string{"swapBehavior": "LimitedSwap"}
	n.up()
	if got, want := n.curl("/v1/node").body, fmt.Sprintf(`"swapBytes":"%d"`, swap); !strings.Contains(got, want) {
		t.Errorf("the node says %s, want %s in it", got, want)
	}
	share := int64(float64(24<<20)/float64(memory)*float64(swap)) / 4096 * 4096 // the kernel counts pages
	n.apply(sharers)
	n.apply(adding(runs("sure", "pause"), classes["sure"]))
	n.apply(runs("best", "pause").yaml())
	n.apply(strings.Replace(holding("needed", "1M"), "spec:\n", "spec:\n  priorityClassName: system-node-critical\n", 1))
	for _, c := range []struct {
		pod, container string
		want           int64
	}{{"burst", "part", share}, {"burst", "same", 0}, {"burst", "none", 0}, {"sure", "main", 0}, {"best", "main", 0}, {"needed", "main", 0}} {
		n.waitRunning(c.pod)
		if got := n.second(n.pidOf(c.pod, c.container), "memory.swap.max"); got != c.want {
			t.Errorf("%s of %s may swap %d bytes, want %d", c.container, c.pod, got, c.want)
		}
	}
	n.keepsItsShare(share)
	n.swapsRatherThanEnds(share, swap)

	n.apply(holding("greedy", "128M"))
	n.endsOutOfMemory("greedy")
	n.Kill()
	delete(n.Settings, "memorySwap") // NoSwap is the default
	n.up()
	n.apply(strings.Replace(sharers, "name: burst", "name: later", 1))
	n.waitRunning("later")
	if got := n.second(n.pidOf("later", "part"), "memory.swap.max"); got != 0 {
		t.Errorf("with NoSwap a container may swap %d bytes", got)
	}
	n.apply(holding("late", "48M"))
	n.endsOutOfMemory("late")
}

// second reads a number of a process's own cgroup, version 2.
func (n *node) second(pid int, file string) int64 {
	n.t.Helper()
	got, err := strconv.ParseInt(n.cgroupFile(pid, 0, "", file), 10, 64)
	if err != nil {
		n.t.Fatalf("%s: %v", file, err)
	}
	return got
}

// keepsItsShare resizes a container that may swap.
func (n *node) keepsItsShare(share int64) {
	n.t.Helper()
	part := n.pidOf("burst", "part")
	weight := n.second(part, "cpu.weight")
	n.apply(strings.Replace(sharers, "cpu: 100m", "cpu: 200m", 1))
	n.eventually("part has more CPU and the same swap", func() bool {
		return n.second(part, "cpu.weight") > weight && n.second(part, "memory.swap.max") == share
	})
	n.apply(strings.Replace(sharers, "cpu: 100m, memory: 24Mi", "cpu: 200m, memory: 28Mi", 1))
	n.pending("burst", corev1.PodReasonInfeasible, "In-place resize of containers with swap is not supported")
}

// swapsRatherThanEnds makes a container hold more memory than its limit, but no more than limit and
// swap together. It checks that the node reports this.
func (n *node) swapsRatherThanEnds(share, whole int64) {
	n.t.Helper()
	n.apply(holding("hungry", "48M"))
	n.waitRunning("hungry")
	pid := n.pidOf("hungry", "main")
	n.eventually("hungry has all it wants, in memory and swap", func() bool {
		return n.second(pid, "memory.current")+n.second(pid, "memory.swap.current") > 48<<20
	})
	if got := n.second(pid, "memory.current"); got > 32<<20 {
		n.t.Errorf("hungry uses %d bytes of memory, more than its limit", got)
	}
	var hungry statsapi.PodStats
	var of statsapi.NodeStats
	n.eventually("the summary says what hungry has swapped", func() bool {
		var summary statsapi.Summary
		n.curlTLS("viewer", "/stats/summary").into(n, &summary)
		i := slices.IndexFunc(summary.Pods, func(p statsapi.PodStats) bool { return p.PodRef.Name == "hungry" })
		if i < 0 || len(summary.Pods[i].Containers) == 0 {
			return false
		}
		hungry, of = summary.Pods[i], summary.Node
		main := hungry.Containers[0].Swap
		return main != nil && int64(*main.SwapUsageBytes) == n.second(pid, "memory.swap.current")
	})
	main := hungry.Containers[0].Swap
	if left := main.SwapAvailableBytes; left == nil || *main.SwapUsageBytes+*left != uint64(share) {
		n.t.Errorf("hungry has swapped %s, want %d bytes with those left", n.jsonOf(main), share)
	}
	if hungry.Swap == nil || *hungry.Swap.SwapUsageBytes < *main.SwapUsageBytes || hungry.Swap.SwapAvailableBytes != nil {
		n.t.Errorf("its pod has swapped %s, want at least %d bytes, and no bound", n.jsonOf(hungry.Swap), *main.SwapUsageBytes)
	}
	if of.Swap == nil || *of.Swap.SwapUsageBytes < *main.SwapUsageBytes || *of.Swap.SwapUsageBytes+*of.Swap.SwapAvailableBytes != uint64(whole) {
		n.t.Errorf("the node has swapped %s, want at least %d bytes, and %d with those left", n.jsonOf(of.Swap), *main.SwapUsageBytes, whole)
	}
	found := n.metrics("/metrics/resource")
	if got := n.sample(found, "container_swap_limit_bytes", "pod", "hungry"); got != float64(share) {
		n.t.Errorf("container_swap_limit_bytes is %v, want %d", got, share)
	}
	for _, name := range []string{"container_swap_usage_bytes", "pod_swap_usage_bytes"} {
		if got := n.sample(found, name, "pod", "hungry"); got < 16<<20 {
			n.t.Errorf("%s is %v, want what did not fit into 32Mi of 48Mi", name, got)
		}
	}
	if got := containerStatus(n.waitRunning("hungry"), "main"); got.RestartCount != 0 {
		n.t.Errorf("hungry has restarted: %+v", got)
	}
	n.deletePod("hungry", "")
	n.waitGone("hungry")
}

// endsOutOfMemory waits until a container was killed at its memory limit.
func (n *node) endsOutOfMemory(pod string) {
	n.t.Helper()
	n.wait(pod, pod+" killed", func(p *corev1.Pod) bool {
		ended := ends(p)
		return ended != nil && ended.Reason == "OOMKilled" && ended.ExitCode == 137
	})
	n.deletePod(pod, "")
}

func TestSwapIsNotSharedOnVersion1(t *testing.T) {
	if cgroupVersion(t) != 1 {
		t.Skip("this machine has cgroup v2: TestContainersSwapWithinTheirShare covers it")
	}
	n := prepare(t)
	n.Settings["memorySwap"] = map[string]string{"swapBehavior": "LimitedSwap"}
	n.refusesToStart("memorySwap.swapBehavior")
}

// refusesToStart checks that the agent ends at once and names the setting.
func (n *node) refusesToStart(setting string) {
	n.t.Helper()
	if err := n.Launch(); err != nil {
		n.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(n.t.Context(), pace.Of(patience))
	defer cancel()
	if code, err := n.Wait(ctx); err != nil || code == 0 || !strings.Contains(n.Log(), setting) {
		n.t.Fatalf("the agent ended with %d (%v) and says %s; want a failure that names %s", code, err, n.Log(), setting)
	}
}

// TestOutOfMemoryEndsAContainerAsAWhole lets one of two processes exceed their container's memory
// limit.
func TestOutOfMemoryEndsAContainerAsAWhole(t *testing.T) {
	if cgroupVersion(t) != 2 {
		t.Skip("version 1 of cgroups ends single processes: test/vm/tests.sh test/e2e has version 2")
	}
	n := start(t)
	pod := func(name string) string {
		return adding(shell(name, "until [ -e /go ]; do sleep 0.1; done; tail /dev/zero; echo tail ended with $?; exec sleep 1000"), "resources: {limits: {memory: 24Mi}}")
	}
	begin := func(name string, group int64) {
		n.apply(pod(name))
		n.waitRunning(name)
		if got := n.second(n.pidOf(name, "main"), "memory.oom.group"); got != group {
			t.Errorf("memory.oom.group of %s is %d, want %d", name, got, group)
		}
		n.inside(name, "main", "touch /go")
	}
	begin("whole", 1)
	p := n.wait("whole", "whole killed", func(p *corev1.Pod) bool { return ends(p) != nil })
	if ended := ends(p); ended.ExitCode != 137 {
		t.Errorf("it ended with %s, %d; want 137", ended.Reason, ended.ExitCode)
	}
	n.Kill()
	n.Settings["singleProcessOOMKill"] = true
	n.up()
	begin("single", 0)
	n.eventually("tail is killed", func() bool {
		return strings.Contains(n.curl("/containerLogs/default/single/main").body, "tail ended with 137")
	})
	if got := containerStatus(n.waitRunning("single"), "main"); got.RestartCount != 0 {
		t.Errorf("it has restarted: %+v", got)
	}
}
