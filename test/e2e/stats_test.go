package e2e

import (
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"nodal/test/agent"
	"nodal/test/claim"
)

// spent returns the CPU seconds of a process's cgroup, or of one so many levels above.
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

// workingSet returns the memory of a cgroup in bytes, without inactive files.
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

// field returns a value from a file of names and values.
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
		"/stats/summary agrees within 5 % with the kernel's CPU time and working set of a container and its pod",
		"/metrics/resource and /metrics/cadvisor have the same figures for Prometheus' own parser, with limits, processes and interfaces under cAdvisor's names",
		"StatsService sends figures at an interval, with the CPU usage, and keeps a history of those that were requested",
		"/metrics shows how long the work on pods takes, when the runtime was last listed, the phases of pods and when the serving certificate expires",
		"/metrics and /metrics/probes count pods and containers, calls to the runtime and to the node, start durations of pods, and probe results",
		"the node's CPU time, memory, network, disk, images and processes are reported",
		"volumes, logs and a pod's other files on the node's disk are measured, in /stats/summary and in StatsService",
		"only_cpu_and_memory omits all other figures",
		"systemContainers has all pods together, and the node's own programs if each has a cgroup",
		"every role that may read may read stats, on the read-only port every caller, and no other caller")
	n := prepare(t, func(c *agent.Config) { c.Ports.ReadOnly = c.Ports.Secure + 2 })
	n.up()
	// Nothing runs in it once it is ready, so that its figures stay the same.
	n.apply(adding(shell("busy", "dd if=/dev/zero of=/scratch/kept bs=1k count=256; dd if=/dev/zero of=/dev/shm/taken bs=1M count=32; i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done; touch /done; exec sleep 1000"),
		"startupProbe: {exec: {command: [test, -f, /done]}, periodSeconds: 1, failureThreshold: 100}",
		"volumeMounts: [{name: scratch, mountPath: /scratch}, {name: memory, mountPath: /memory}]",
		"resources: {limits: {cpu: 2, memory: 128Mi}}") +
		"  volumes: [{name: scratch, emptyDir: {}}, {name: memory, emptyDir: {medium: Memory, sizeLimit: 4Mi}}]\n")
	n.apply(adding(web("asked"), "readinessProbe: {httpGet: {path: /, port: 8080}, periodSeconds: 1}"))
	n.waitRunning("busy")
	n.waitRunning("asked")
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
		pods := slices.IndexFunc(from.Node.SystemContainers, func(s statsapi.ContainerStats) bool { return s.Name == "pods" })
		if pods < 0 {
			t.Fatalf("%s: all pods together are not among %+v", name, from.Node.SystemContainers)
		}
		wantNear(t, name+": seconds of all pods", float64(*from.Node.SystemContainers[pods].CPU.UsageCoreNanoSeconds)/1e9, n.spent(pid, 3))
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
	n.wantOnDisk(&summary)
	n.wantResourceMetrics(pid)
	n.wantCadvisorMetrics(pid)
	n.wantStatsOfTheAPI(pid)
	n.wantAgentMetrics()
	for _, path := range []string{"/stats/summary", "/metrics", "/metrics/probes", "/metrics/cadvisor", "/metrics/resource", "/v1/stats"} {
		if got := n.curlTLS("", path); got.code != 401 {
			t.Errorf("%s without a credential: got %s, want 401", path, got)
		}
	}
}

// wantOnDisk checks the sizes of what busy has written: a file in a volume, and its log.
func (n *node) wantOnDisk(summary *statsapi.Summary) {
	n.t.Helper()
	busy := summary.Pods[slices.IndexFunc(summary.Pods, func(p statsapi.PodStats) bool { return p.PodRef.Name == "busy" })]
	volumes := map[string]statsapi.VolumeStats{}
	for _, v := range busy.VolumeStats {
		volumes[v.Name] = v
	}
	scratch, memory, logs := volumes["scratch"], volumes["memory"], busy.Containers[0].Logs
	if scratch.UsedBytes == nil || memory.UsedBytes == nil || logs == nil || busy.EphemeralStorage == nil {
		n.t.Fatalf("busy has %s on disk, want two volumes, its logs and their sum", n.jsonOf(busy))
	}
	const wrote = 256 << 10
	if used := *scratch.UsedBytes; used < wrote || used > 2*wrote || *scratch.InodesUsed != 2 || *scratch.CapacityBytes == 0 {
		n.t.Errorf("its volume is %s, want one file of %d bytes", n.jsonOf(scratch), wrote)
	}
	if *memory.CapacityBytes != 4<<20 || *logs.UsedBytes == 0 {
		n.t.Errorf("its volume in memory is %s, its log %s", n.jsonOf(memory), n.jsonOf(logs))
	}
	if sum := *busy.EphemeralStorage.UsedBytes; sum < *scratch.UsedBytes+*logs.UsedBytes {
		n.t.Errorf("all together it has %d bytes, less than its volume and its log", sum)
	}
	var told struct {
		Stats struct {
			Pods []struct {
				EphemeralBytes string
				Volumes        []struct{ Name string }
			}
		}
	}
	n.curl("/v1/stats?namespace=default&name=busy").into(n, &told)
	if p := told.Stats.Pods; len(p) != 1 || p[0].EphemeralBytes == "" || len(p[0].Volumes) != 2 {
		n.t.Errorf("StatsService says %+v, want two volumes and their sum", told)
	}
}

// metrics returns the families of a path, read by Prometheus' own parser.
func (n *node) metrics(path string) map[string]*dto.MetricFamily {
	n.t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(n.curlTLS("viewer", path).body))
	if err != nil {
		n.t.Fatalf("%s: %v", path, err)
	}
	return families
}

// sample returns the value of a family's only sample with these labels, given as name and value in
// turn.
func (n *node) sample(of map[string]*dto.MetricFamily, name string, labels ...string) float64 {
	n.t.Helper()
	var found []float64
	for _, m := range of[name].GetMetric() {
		has := map[string]string{}
		for _, l := range m.GetLabel() {
			has[l.GetName()] = l.GetValue()
		}
		fits := true
		for i := 0; i < len(labels); i += 2 {
			fits = fits && has[labels[i]] == labels[i+1]
		}
		if fits {
			found = append(found, m.GetCounter().GetValue()+m.GetGauge().GetValue()+float64(m.GetHistogram().GetSampleCount()))
		}
	}
	if len(found) != 1 {
		n.t.Fatalf("%s%q has %d samples, want one", name, labels, len(found))
	}
	return found[0]
}

func (n *node) wantResourceMetrics(pid int) {
	n.t.Helper()
	found := n.metrics("/metrics/resource")
	for above, who := range []string{"container", "pod"} {
		wantNear(n.t, who+"_cpu_usage_seconds_total", n.sample(found, who+"_cpu_usage_seconds_total", "pod", "busy"), n.spent(pid, above))
		wantNear(n.t, who+"_memory_working_set_bytes", n.sample(found, who+"_memory_working_set_bytes", "pod", "busy"), n.workingSet(pid, above))
	}
	for _, name := range []string{"node_cpu_usage_seconds_total", "node_memory_working_set_bytes"} {
		if value := n.sample(found, name); value <= 0 {
			n.t.Errorf("%s is %v", name, value)
		}
	}
	if value := n.sample(found, "container_start_time_seconds", "pod", "busy"); value <= 0 {
		n.t.Errorf("container_start_time_seconds is %v", value)
	}
	if got := n.sample(found, "resource_scrape_error"); got != 0 {
		n.t.Errorf("resource_scrape_error is %v, want 0", got)
	}
}

func (n *node) wantCadvisorMetrics(pid int) {
	n.t.Helper()
	found := n.metrics("/metrics/cadvisor")
	main := []string{"pod", "busy", "namespace", "default", "container", "main"}
	wantNear(n.t, "the container's seconds", n.sample(found, "container_cpu_usage_seconds_total", main...), n.spent(pid, 0))
	wantNear(n.t, "the container's bytes", n.sample(found, "container_memory_working_set_bytes", main...), n.workingSet(pid, 0))
	// The file in memory counts as cache.
	wantNear(n.t, "the container's cache", n.sample(found, "container_memory_cache", main...), 32<<20)
	for name, want := range map[string]float64{
		"container_spec_memory_limit_bytes": 128 << 20, "container_spec_cpu_quota": 200000, "container_processes": 1, "container_sockets": 0,
	} {
		if got := n.sample(found, name, main...); got != want {
			n.t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if got := n.sample(found, "container_network_transmit_packets_total", "pod", "busy", "interface", "eth0"); got == 0 {
		n.t.Error("the pod's interface has sent nothing")
	}
	if got := n.sample(found, "machine_cpu_cores"); got != float64(runtime.NumCPU()) {
		n.t.Errorf("machine_cpu_cores is %v, want %d", got, runtime.NumCPU())
	}
	if total := n.sample(found, "container_cpu_usage_seconds_total", "id", "/"); total < n.spent(pid, 0) {
		n.t.Errorf("the node has spent %v, less than one container", total)
	}
	if got := n.sample(found, "container_scrape_error"); got != 0 {
		n.t.Errorf("container_scrape_error is %v, want 0", got)
	}
}

func (n *node) wantAgentMetrics() {
	n.t.Helper()
	n.metrics("/metrics") // the request below counts this one
	found, probes := n.metrics("/metrics"), n.metrics("/metrics/probes")
	for _, c := range []struct {
		name        string
		labels      []string
		least, most float64
	}{
		{"kubelet_node_name", []string{"node", "node-a"}, 1, 1},
		{"kubelet_running_pods", nil, 2, 2},
		{"kubelet_running_containers", []string{"container_state", "running"}, 2, 2},
		{"kubelet_started_containers_total", []string{"container_type", "container"}, 2, 2},
		{"kubelet_pod_start_duration_seconds", nil, 2, 2},
		{"kubelet_pod_start_sli_duration_seconds", nil, 2, 2},
		{"kubelet_containers_per_pod_count", nil, 2, 2},
		{"kubelet_pod_worker_duration_seconds", []string{"operation_type", "create"}, 2, 20},
		{"kubelet_working_pods", []string{"lifecycle", "sync", "config", "desired", "static", ""}, 2, 2},
		{"kubelet_pleg_relist_duration_seconds", nil, 1, 1000},
		{"kubelet_pleg_last_seen_seconds", nil, float64(time.Now().Add(-time.Hour).Unix()), float64(time.Now().Unix())},
		{"kubelet_certificate_manager_server_ttl_seconds", nil, 3600, 1e9},
		{"kubelet_runtime_operations_total", []string{"operation_type", "run_podsandbox"}, 2, 2},
		{"kubelet_runtime_operations_duration_seconds", []string{"operation_type", "start_container"}, 2, 2},
		{"kubelet_http_requests_total", []string{"path", "metrics", "server_type", "readwrite"}, 1, 2},
		{"kubelet_http_requests_total", []string{"path", "stats/summary", "server_type", "readonly"}, 1, 1},
		{"process_resident_memory_bytes", nil, 1 << 20, 1 << 30},
	} {
		if got := n.sample(found, c.name, c.labels...); got < c.least || got > c.most {
			n.t.Errorf("%s%q is %v, want %v to %v", c.name, c.labels, got, c.least, c.most)
		}
	}
	asked := []string{"pod", "asked", "container", "main", "probe_type", "Readiness"}
	if got := n.sample(probes, "prober_probe_total", append(asked, "result", "successful")...); got < 1 {
		n.t.Errorf("the probe has succeeded %v times", got)
	}
	if got := n.sample(probes, "prober_probe_duration_seconds", asked...); got < 1 {
		n.t.Errorf("the probe was timed %v times", got)
	}
}

func (n *node) wantStatsOfTheAPI(pid int) {
	n.t.Helper()
	watch := n.follow("/v1/stats:watch?interval=1s&namespace=default&name=busy")
	watch.until(`"name":"busy"`)
	watch.until(`"cores":`) // from the difference to the figures before
	var past struct {
		Containers []struct {
			Name   string
			Usages []struct{ CPUTime, WorkingSetBytes string }
		}
	}
	n.curl("/v1/namespaces/default/pods/busy/stats").into(n, &past)
	if len(past.Containers) != 1 || past.Containers[0].Name != "main" || len(past.Containers[0].Usages) == 0 {
		n.t.Fatalf("the containers have used %+v, want some by main", past)
	}
	usage := past.Containers[0].Usages[0]
	spent, err := time.ParseDuration(usage.CPUTime)
	if err != nil {
		n.t.Fatal(err)
	}
	wantNear(n.t, "the first seconds", spent.Seconds(), n.spent(pid, 0))
}

func wantNear(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > want/20 {
		t.Errorf("%s: got %v, want %v within 5 %%", what, got, want)
	}
}
