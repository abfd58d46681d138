package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	runtimev1 "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/cpuset"

	"nodal/test/agent"
	"nodal/test/claim"
)

// asking returns a pod whose container has this much CPU as request and limit. It ends slowly.
// Another amount makes another program of it.
func asking(name, cpu string) string {
	p := shell(name, "trap 'sleep 8; exit' TERM; while :; do sleep 0.1; done #"+cpu)
	p.grace = 20
	return adding(p, fmt.Sprintf("resources: {limits: {cpu: %s, memory: 32Mi}}", cpu))
}

// cpusOf returns the CPUs on which a pod's container may run.
func (n *node) cpusOf(pod string) string { return n.allowed(pod, "Cpus_allowed_list:") }

// allowed returns the CPUs that the kernel allows a pod's container, or "" while it ends.
func (n *node) allowed(pod, name string) string {
	n.t.Helper()
	for _, c := range n.containers(pod) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.processOf(c)))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if value, ok := strings.CutPrefix(line, name); ok {
				return strings.TrimSpace(value)
			}
		}
	}
	return ""
}

// processOf returns the process of a container, or 0 if it has ended.
func (n *node) processOf(c container) int {
	n.t.Helper()
	reply, err := n.rt.CRI().ContainerStatus(n.t.Context(), &runtimev1.ContainerStatusRequest{ContainerId: c.id, Verbose: true})
	if err != nil {
		return 0
	}
	var info struct {
		Pid int `json:"pid"`
	}
	if err := json.Unmarshal([]byte(reply.Info["info"]), &info); err != nil {
		n.t.Fatalf("inspect container %s: %v", c.id, err)
	}
	return info.Pid
}

// runsOn waits until a pod's container may run on these CPUs.
func (n *node) runsOn(pod, cpus string) {
	n.t.Helper()
	n.eventually(fmt.Sprintf("%s on CPUs %s", pod, cpus), func() bool { return n.cpusOf(pod) == cpus })
}

func TestGuaranteedContainersGetExclusiveCPUs(t *testing.T) {
	most := runtime.NumCPU() - 1
	if most == 0 {
		t.Skip("there is only one CPU, which all share")
	}
	claim.Shows(t, "Resources",
		"with cpuManagerPolicy static a guaranteed container that asks for whole CPUs has exclusive ones without a quota, and all others run on the rest",
		"containers on shared CPUs move without a restart when exclusive CPUs are assigned or freed",
		"after a kill of the agent every container keeps its CPUs",
	)
	claim.Shows(t, "Admission", "a pod that finds no exclusive CPU, because its owner has not ended yet, is refused as UnexpectedAdmissionError")
	claim.Shows(t, "Stats and metrics", "kubelet_cpu_manager_* count exclusive CPUs, and the pods that asked for some")
	n := start(t, func(c *agent.Config) {
		c.Settings["cpuManagerPolicy"] = "static"
		c.Settings["kubeReserved"] = map[string]string{"cpu": "500m"} // this takes a whole CPU
	})
	const rest = "0"
	all, own := cpuset.New(0), cpuset.New()
	for id := range most {
		own = own.Union(cpuset.New(id + 1))
	}
	all = all.Union(own)
	n.apply(shell("shares", "exec sleep 1000").yaml())
	n.waitRunning("shares")
	n.runsOn("shares", all.String())

	n.apply(asking("owns", fmt.Sprint(most)))
	n.waitRunning("owns")
	n.runsOn("owns", own.String())
	n.runsOn("shares", rest)
	pid := n.pidOf("owns", "main")
	for above := range 2 {
		if got := n.cgroupFile(pid, above, "cpu cpu.cfs_quota_us", "cpu.max"); got != "-1" && !strings.HasPrefix(got, "max") {
			t.Errorf("%d above the container the quota is %s, want none", above, got)
		}
	}

	before := n.healthy()
	n.Kill()
	n.up()
	n.unmoved("owns", "shares")
	n.apply(shell("later", "exec sleep 1000").yaml())
	n.waitRunning("later")
	for pod, cpus := range map[string]string{"owns": own.String(), "shares": rest, "later": rest} {
		n.runsOn(pod, cpus)
	}
	n.deletePod("later", "?gracePeriodSeconds=1")
	if after := n.healthy(); after != before {
		t.Errorf("after the kill %s runs, want %s as before", after, before)
	}

	found := n.metrics("/metrics")
	if own, free := n.sample(found, "kubelet_cpu_manager_exclusive_cpu_allocation_count"), n.sample(found, "kubelet_cpu_manager_shared_pool_size_millicores"); own != float64(most) || free != 0 {
		t.Errorf("%v CPUs are exclusive and %v thousandths free, want %d and none", own, free, most)
	}

	n.apply(asking("owns", "500m")) // the pod with the CPUs ends slowly
	n.apply(asking("rival", fmt.Sprint(most)))
	n.wait("rival", "rival refused", func(p *corev1.Pod) bool {
		return p.Status.Phase == corev1.PodFailed && p.Status.Reason == "UnexpectedAdmissionError" &&
			strings.Contains(p.Status.Message, fmt.Sprintf("not enough cpus available to satisfy request: requested=%d, available=0", most))
	})
	n.eventually("a failed request for CPUs is counted", func() bool { // the agent was killed since the earlier ones
		found := n.metrics("/metrics")
		return n.sample(found, "kubelet_cpu_manager_pinning_errors_total") == 1 && n.sample(found, "kubelet_cpu_manager_pinning_requests_total") == 1
	})
	n.eventually("owns on all CPUs", func() bool { return ready(n.get("owns")) && n.cpusOf("owns") == all.String() })
	n.runsOn("shares", all.String())
	n.apply(asking("rival", fmt.Sprint(most)))
	n.waitRunning("rival")
	n.runsOn("rival", own.String())
	n.runsOn("shares", rest)
}

func TestCPUsAndMemoryOfAContainerAreAligned(t *testing.T) {
	most := runtime.NumCPU() - 1
	if most == 0 {
		t.Skip("there is only one CPU, which all share")
	}
	claim.Shows(t, "Resources", "with memoryManagerPolicy Static a guaranteed container has memory of one NUMA node; with topologyManagerPolicy restricted it is the node of its CPUs")
	claim.Shows(t, "Admission", "a pod whose CPUs and memory cannot be aligned is refused as TopologyAffinityError")
	n := start(t, func(c *agent.Config) {
		c.Settings["cpuManagerPolicy"] = "static"
		c.Settings["kubeReserved"] = map[string]string{"cpu": "500m", "memory": "28Mi"}
		c.Settings["memoryManagerPolicy"] = "Static"
		// Plus evictionHard.
		c.Settings["reservedMemory"] = []any{map[string]any{"numaNode": 0, "limits": map[string]string{"memory": "128Mi"}}}
		c.Settings["evictionHard"] = map[string]string{"memory.available": "100Mi"}
		c.Settings["topologyManagerPolicy"] = "restricted"
		c.Settings["topologyManagerScope"] = "pod"
	})
	n.apply(asking("owns", fmt.Sprint(most)))
	n.waitRunning("owns")
	if _, err := strconv.Atoi(n.allowed("owns", "Mems_allowed_list:")); err != nil {
		t.Errorf("it has memory of NUMA nodes %s, want one", n.allowed("owns", "Mems_allowed_list:"))
	}
	n.apply(asking("owns", "500m"))
	n.apply(asking("rival", fmt.Sprint(most)))
	n.wait("rival", "rival refused", func(p *corev1.Pod) bool {
		return p.Status.Phase == corev1.PodFailed && p.Status.Reason == "TopologyAffinityError"
	})
}
