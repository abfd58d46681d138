package e2e

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"nodal/test/agent"
	"nodal/test/claim"
)

// spent is the seconds that a process' cgroup, or one so many levels above, has had of
// processors.
func (n *node) spent(pid, above int) float64 {
	n.t.Helper()
	text, unit := n.cgroupFile(pid, above, "cpuacct cpuacct.usage", "cpu.stat"), time.Nanosecond
	if cgroupVersion(n.t) == 2 {
		text, unit = field(text, "usage_usec"), time.Microsecond
	}
	count, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		n.t.Fatal(err)
	}
	return (time.Duration(count) * unit).Seconds()
}

// workingSet is the bytes of memory that a cgroup uses but for files that nobody has
// touched for a while.
func (n *node) workingSet(pid, above int) float64 {
	n.t.Helper()
	used, err := strconv.ParseFloat(n.cgroupFile(pid, above, "memory memory.usage_in_bytes", "memory.current"), 64)
	if err != nil {
		n.t.Fatal(err)
	}
	name := "total_inactive_file"
	if cgroupVersion(n.t) == 2 {
		name = "inactive_file"
	}
	idle, err := strconv.ParseFloat(field(n.cgroupFile(pid, above, "memory memory.stat", "memory.stat"), name), 64)
	if err != nil {
		n.t.Fatal(err)
	}
	return used - idle
}

// field is a value in a file of names and values.
func field(text, name string) string {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func TestStatsAreWhatTheKernelCounts(t *testing.T) {
	claim.Shows(t, "Stats and metrics",
		"/stats/summary says within 5 % what the kernel counts of the processor time and the working set of a container and its pod",
		"/metrics/resource says the same to Prometheus' own parser",
		"the node's processor time, memory, network, disk, images and processes are there",
		"only_cpu_and_memory leaves out the rest",
		"whoever may read may read stats, on the read-only port anybody, and nobody else")
	n := prepare(t, func(c *agent.Config) { c.Ports.ReadOnly = c.Ports.Secure + 2 })
	n.up()
	// Once it is ready nothing runs in it any more, so that its figures stand still.
	n.apply(adding(shell("busy", "dd if=/dev/zero of=/dev/shm/taken bs=1M count=32; i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done; touch /done; exec sleep 1000"),
		"startupProbe: {exec: {command: [test, -f, /done]}, periodSeconds: 1, failureThreshold: 100}"))
	n.waitRunning("busy")
	pid := n.pidOf("busy", "main")

	var summary, few statsapi.Summary
	n.curlTLS("viewer", "/stats/summary").into(n, &summary)
	n.runCurl([]string{"http://" + n.address(n.Ports.ReadOnly) + "/stats/summary?only_cpu_and_memory=true"}).into(n, &few)
	for name, from := range map[string]statsapi.Summary{"all": summary, "only_cpu_and_memory": few} {
		busy := from.Pods[slices.IndexFunc(from.Pods, func(p statsapi.PodStats) bool { return p.PodRef.Name == "busy" })]
		main := busy.Containers[0]
		for above, got := range []struct {
			cpu    *statsapi.CPUStats
			memory *statsapi.MemoryStats
		}{{main.CPU, main.Memory}, {busy.CPU, busy.Memory}} {
			wantNear(t, name+": seconds", float64(*got.cpu.UsageCoreNanoSeconds)/1e9, n.spent(pid, above))
			wantNear(t, name+": bytes", float64(*got.memory.WorkingSetBytes), n.workingSet(pid, above))
		}
		if main.Name != "main" || busy.PodRef.Namespace != "default" || main.StartTime.IsZero() || busy.StartTime.IsZero() {
			t.Errorf("%s: got %+v of %+v, want main of busy with the times of their start", name, main, busy.PodRef)
		}
	}
	of := summary.Node
	if of.NodeName != "node-a" || *of.CPU.UsageCoreNanoSeconds == 0 || *of.Memory.WorkingSetBytes == 0 || *of.Memory.AvailableBytes == 0 ||
		len(of.Network.Interfaces) == 0 || *of.Fs.CapacityBytes == 0 || *of.Runtime.ImageFs.CapacityBytes == 0 || *of.Rlimit.NumOfRunningProcesses == 0 {
		t.Errorf("the node: got %s", n.jsonOf(of))
	}
	if few.Node.Fs != nil || few.Node.Network != nil || few.Pods[0].Network != nil {
		t.Errorf("processor and memory alone: got %s", n.jsonOf(few))
	}
	n.wantResourceMetrics(pid)
	for _, path := range []string{"/stats/summary", "/metrics/resource"} {
		if got := n.curlTLS("", path); got.code != 401 {
			t.Errorf("%s as nobody: got %s, want 401", path, got)
		}
	}
}

// wantResourceMetrics reads /metrics/resource as Prometheus does.
func (n *node) wantResourceMetrics(pid int) {
	n.t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(n.curlTLS("viewer", "/metrics/resource").body))
	if err != nil {
		n.t.Fatal(err)
	}
	value := func(name string) float64 {
		m := families[name].GetMetric()
		if len(m) != 1 {
			n.t.Fatalf("%s: got %v, want one sample", name, m)
		}
		return m[0].GetCounter().GetValue() + m[0].GetGauge().GetValue()
	}
	for above, who := range []string{"container", "pod"} {
		wantNear(n.t, who+"_cpu_usage_seconds_total", value(who+"_cpu_usage_seconds_total"), n.spent(pid, above))
		wantNear(n.t, who+"_memory_working_set_bytes", value(who+"_memory_working_set_bytes"), n.workingSet(pid, above))
	}
	for _, name := range []string{"node_cpu_usage_seconds_total", "node_memory_working_set_bytes", "container_start_time_seconds"} {
		if value(name) <= 0 {
			n.t.Errorf("%s is %v", name, value(name))
		}
	}
	if got := value("resource_scrape_error"); got != 0 {
		n.t.Errorf("resource_scrape_error is %v, want 0", got)
	}
}

func wantNear(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > want/20 {
		t.Errorf("%s: got %v, want %v within 5 %%", what, got, want)
	}
}
