package metrics

import (
	"bufio"
	"os"
	"slices"
	"strings"
	"testing"

	cadvisor "github.com/google/cadvisor/lib/metrics"
	"github.com/google/cadvisor/lib/model"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	clock "k8s.io/utils/clock/testing"

	"nodal/node"
)

// table is docs/METRICS.md: by endpoint, what it says of each metric.
func table(t *testing.T) map[string]map[string]string {
	t.Helper()
	rows := map[string]map[string]string{}
	endpoint := ""
	for _, line := range lines(t, "../../docs/METRICS.md") {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			endpoint = title
			rows[endpoint] = map[string]string{}
		}
		if cells := strings.Split(line, "|"); len(cells) == 4 && strings.HasPrefix(cells[1], " `") {
			rows[endpoint][strings.Trim(cells[1], " `")] = strings.TrimSpace(cells[2])
		}
	}
	return rows
}

func lines(t *testing.T, file string) []string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []string
	for s := bufio.NewScanner(f); s.Scan(); {
		all = append(all, s.Text())
	}
	return all
}

// upstream is what upstream's kubelet serves: testdata has the names from Kubernetes'
// own documentation, those of cAdvisor come from its collector.
func upstream(t *testing.T) map[string][]string {
	t.Helper()
	names := map[string][]string{}
	for _, line := range lines(t, "testdata/upstream.txt") {
		endpoint, name, _ := strings.Cut(line, " ")
		names[endpoint] = append(names[endpoint], name)
	}
	described := make(chan *prometheus.Desc, 1000)
	cadvisor.NewPrometheusCollector(scripted{}, nil, counted(), clock.NewFakeClock(someTime), model.RequestOptions{}).Describe(described)
	cadvisor.NewPrometheusMachineCollector(scripted{}, counted()).Describe(described)
	close(described)
	for d := range described {
		_, after, _ := strings.Cut(d.String(), `fqName: "`)
		name, _, _ := strings.Cut(after, `"`)
		names["/metrics/cadvisor"] = append(names["/metrics/cadvisor"], name)
	}
	// It has these, and does not describe them.
	for _, limit := range []string{"limit", "reservation_limit", "swap_limit"} {
		names["/metrics/cadvisor"] = append(names["/metrics/cadvisor"], "container_spec_memory_"+limit+"_bytes")
	}
	return names
}

// served is what is written where everything is known.
func served(t *testing.T) map[string][]string {
	t.Helper()
	some := uint64(1)
	at := metav1.NewTime(someTime)
	cpu, memory := &statsapi.CPUStats{Time: at, UsageCoreNanoSeconds: &some}, &statsapi.MemoryStats{Time: at, WorkingSetBytes: &some}
	swap := &statsapi.SwapStats{Time: at, SwapUsageBytes: &some, SwapAvailableBytes: &some}
	summary := &statsapi.Summary{
		Node: statsapi.NodeStats{CPU: cpu, Memory: memory, Swap: swap},
		Pods: []statsapi.PodStats{{CPU: cpu, Memory: memory, Swap: swap, Containers: []statsapi.ContainerStats{{StartTime: at, CPU: cpu, Memory: memory, Swap: swap}}}},
	}
	cgroups := someCgroups()
	cgroups[0].Stats[0].Filesystem = []model.FsStats{{Device: "/dev/sda"}}
	a := testAgent()
	a.Called("RunPodSandbox", 0, os.ErrInvalid)
	a.pods.containers.WithLabelValues("container").Inc()
	a.requests.total.WithLabelValues("", "", "", "").Inc()
	a.requests.took.WithLabelValues("", "", "", "").Observe(1)
	a.requests.inFlight.WithLabelValues("", "", "", "").Inc()
	found := map[string][]string{}
	for name := range read(t, a) {
		if !strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_") {
			found["/metrics"] = append(found["/metrics"], name)
		}
	}
	for endpoint, text := range map[string][]byte{
		"/metrics/cadvisor": cadvisorText(t, cgroups), "/metrics/resource": Resource(summary, true),
		"/metrics/probes": Probes([]node.ProbeCount{{Successes: 1}}),
	} {
		for name := range parse(t, text) {
			found[endpoint] = append(found[endpoint], name)
		}
	}
	return found
}

func TestTheTableOfMetricsIsTrue(t *testing.T) {
	rows, ours, theirs := table(t), served(t), upstream(t)
	for endpoint, names := range theirs {
		for _, name := range names {
			if rows[endpoint][name] == "" {
				t.Errorf("%s of %s is not in the table", name, endpoint)
			}
		}
		for name, word := range rows[endpoint] {
			if !slices.Contains(names, name) {
				t.Errorf("%s of %s is in the table, and not upstream's", name, endpoint)
			}
			if is := slices.Contains(ours[endpoint], name); is != (word == "served") {
				t.Errorf("%s of %s: the table says %q, and served is %t", name, endpoint, word, is)
			}
		}
		for _, name := range ours[endpoint] {
			if rows[endpoint][name] == "" {
				t.Errorf("%s of %s is served and not in the table", name, endpoint)
			}
		}
	}
}
