package e2e

import (
	"fmt"
	"strings"
	"testing"

	"nodal/test/agent"
	"nodal/test/claim"
)

// TestTheKernelKeepsTheMemoryOfPods goes on with an agent that keeps nothing: the next one takes back what the kernel
// keeps, and where it slows containers down, while they run on.
func TestTheKernelKeepsTheMemoryOfPods(t *testing.T) {
	claim.Shows(t, "Resources",
		"with memoryReservationPolicy TieredReservation the kernel keeps the memory that guaranteed pods request for good, and that of burstable pods as long as it can (cgroup v2)",
		"with memoryThrottlingFactor containers are slowed down before they reach their limit, or what the node has; guaranteed ones are not (cgroup v2)",
		"both change with a resize in place, and go with the setting, also for containers that run on")
	n := prepare(t, func(c *agent.Config) {
		c.Settings["memoryReservationPolicy"] = "TieredReservation"
		c.Settings["memoryThrottlingFactor"] = 0.5
	})
	n.up()
	for name, resources := range classes {
		n.apply(adding(shell(name, "exec sleep 1000"), resources))
	}
	for name := range classes {
		n.waitRunning(name)
	}
	if cgroupVersion(t) == 1 {
		n.toldOfVersion1()
		return
	}
	const sure, burst = 48 << 20, 64 << 20
	n.guards("sure", 0, fmt.Sprint(sure, " 0 max"))
	n.guards("sure", 1, fmt.Sprint(sure, " 0 max"))
	n.guards("burst", 0, fmt.Sprint("0 ", burst, " ", burst+burst/2))
	n.guards("burst", 1, fmt.Sprint("0 ", burst, " max"))
	n.guards("burst", 2, fmt.Sprint("0 ", burst, " max"))
	n.guards("burst", 3, fmt.Sprint(sure+burst, " ", burst, " max"))
	n.guards("best", 1, "0 0 max")
	if got := n.second(n.pidOf("best", "main"), "memory.high"); got < 64<<20 {
		t.Errorf("best effort is slowed down at %d bytes, want half of what the node has", got)
	}
	found := n.metrics("/metrics")
	for name, want := range map[string]float64{"min": sure, "low": burst} {
		if got := n.sample(found, "kubelet_memory_qos_node_memory_"+name+"_bytes"); got != want {
			t.Errorf("the metric of memory.%s is %v, want %v", name, got, want)
		}
	}

	first := n.containers("burst")[0].id
	n.apply(adding(shell("burst", "exec sleep 1000"), strings.Replace(classes["burst"], "memory: 64Mi", "memory: 96Mi", 1)))
	n.guards("burst", 0, fmt.Sprint("0 ", 96<<20, " ", 112<<20))
	n.guards("burst", 1, fmt.Sprint("0 ", 96<<20, " max"))
	n.guards("burst", 3, fmt.Sprint(sure+(96<<20), " ", 96<<20, " max"))

	n.Kill()
	delete(n.Settings, "memoryReservationPolicy")
	delete(n.Settings, "memoryThrottlingFactor")
	n.Settings["featureGates"] = map[string]bool{"MemoryQoS": false}
	n.up()
	for name := range classes {
		for above := range 3 {
			n.guards(name, above, "0 0 max")
		}
	}
	if got := n.containers("burst"); len(got) != 1 || got[0].id != first {
		t.Errorf("the containers of burst are %v, want %s alone", got, first)
	}
}

// guards waits until the kernel keeps this much memory of a pod's container, or of a cgroup above it: memory.min,
// memory.low and memory.high.
func (n *node) guards(pod string, above int, want string) {
	n.t.Helper()
	var got string
	defer func() {
		if got != want {
			n.t.Logf("%d above the container of %s: got %s", above, pod, got)
		}
	}()
	pid := n.pidOf(pod, "main")
	n.eventually(fmt.Sprintf("%s at %d above the container of %s", want, above, pod), func() bool {
		var parts []string
		for _, file := range []string{"min", "low", "high"} {
			parts = append(parts, n.cgroupFile(pid, above, "", "memory."+file))
		}
		got = strings.Join(parts, " ")
		return got == want
	})
}

// toldOfVersion1 checks that a node with version 1 of cgroups says what it cannot do.
func (n *node) toldOfVersion1() {
	n.t.Helper()
	got := n.curl("/v1/node/config").body
	for _, want := range []string{"memory.min and memory.low of pods are not set", "memory.high of containers is not set"} {
		if !strings.Contains(got, want) {
			n.t.Errorf("the node's settings do not say %q", want)
		}
	}
}
