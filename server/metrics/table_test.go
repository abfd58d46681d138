package metrics

import (
	"bufio"
	"errors"
	"maps"
	"net/http/httptest"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	cadvisor "github.com/google/cadvisor/lib/metrics"
	"github.com/google/cadvisor/lib/model"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	clock "k8s.io/utils/clock/testing"

	"nodal/node"
)

const toRoot = "../.."

// page is docs/METRICS.md.
type page struct {
	rows    map[string]map[string]string // by endpoint and metric: "served", or a reason
	reasons map[string]string            // with what there must not be for them; empty: whatever there is
}

func readPage(t *testing.T) page {
	t.Helper()
	p := page{rows: map[string]map[string]string{}, reasons: map[string]string{}}
	title := ""
	for _, line := range lines(t, toRoot+"/docs/METRICS.md") {
		if of, ok := strings.CutPrefix(line, "## "); ok {
			title = of
		}
		cells := strings.Split(line, "|")
		if len(cells) < 4 || !strings.HasPrefix(cells[1], " `") {
			continue
		}
		name, last := strings.Trim(cells[1], " `"), strings.Trim(cells[len(cells)-2], " `")
		if title == "Reasons" {
			p.reasons[name] = last
			continue
		}
		if p.rows[title] == nil {
			p.rows[title] = map[string]string{}
		}
		p.rows[title][name] = last
	}
	return p
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

// shape is the identity of a metric for dashboards and scrapers.
type shape struct{ kind, labels, help string }

// upstream returns the metrics of upstream's kubelet, by endpoint and name: testdata has them
// from Kubernetes' own documentation. cAdvisor's come from its collector, without shapes:
// TestCadvisorsFamiliesAreCadvisorsOwn compares every sample.
func upstream(t *testing.T) map[string]map[string]shape {
	t.Helper()
	all := map[string]map[string]shape{"/metrics/cadvisor": {}}
	for _, line := range lines(t, "testdata/upstream.txt") {
		words := strings.SplitN(line, " ", 5)
		if all[words[0]] == nil {
			all[words[0]] = map[string]shape{}
		}
		all[words[0]][words[1]] = shape{words[2], strings.Trim(words[3], "{}"), words[4]}
	}
	described := make(chan *prometheus.Desc, 1000)
	cadvisor.NewPrometheusCollector(scripted{}, nil, counted(), clock.NewFakeClock(someTime), model.RequestOptions{}).Describe(described)
	cadvisor.NewPrometheusMachineCollector(scripted{}, counted()).Describe(described)
	close(described)
	for d := range described {
		_, after, _ := strings.Cut(d.String(), `fqName: "`)
		name, _, _ := strings.Cut(after, `"`)
		all["/metrics/cadvisor"][name] = shape{}
	}
	// Upstream had this one as long as it had dynamic configuration. The usual dashboards of Kubernetes still show it.
	all["/metrics"]["kubelet_node_config_error"] = shape{}
	// The documentation leaves out these metrics.
	for _, limit := range []string{"limit", "reservation_limit", "swap_limit"} {
		all["/metrics/cadvisor"]["container_spec_memory_"+limit+"_bytes"] = shape{}
	}
	return all
}

// served returns the metrics of a node that knows all figures, by endpoint and name.
func served(t *testing.T) map[string]map[string]*dto.MetricFamily {
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
	found := map[string]map[string]*dto.MetricFamily{
		"/metrics": read(t, busyAgent()), "/metrics/cadvisor": parse(t, cadvisorText(t, cgroups)),
		"/metrics/slis":     checked(t),
		"/metrics/resource": parse(t, Resource(summary, true)), "/metrics/probes": parse(t, Probes([]*node.ProbeCount{{Successes: 1}})),
	}
	maps.DeleteFunc(found["/metrics"], func(name string, _ *dto.MetricFamily) bool {
		return strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_")
	})
	return found
}

// checked returns the metrics of a health check.
func checked(t *testing.T) map[string]*dto.MetricFamily {
	t.Helper()
	h := NewHealthChecks()
	h.Checked("ping", nil)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics/slis", nil))
	return parse(t, w.Body.Bytes())
}

func TestTheTableOfMetricsIsTrue(t *testing.T) {
	p, ours, theirs := readPage(t), served(t), upstream(t)
	for endpoint, shapes := range theirs {
		for name := range shapes {
			if p.rows[endpoint][name] == "" {
				t.Errorf("%s of %s is not in the table", name, endpoint)
			}
		}
		for name, word := range p.rows[endpoint] {
			if _, is := shapes[name]; !is {
				t.Errorf("%s of %s is in the table, and not upstream's", name, endpoint)
			}
			if _, is := ours[endpoint][name]; is != (word == "served") {
				t.Errorf("%s of %s: the table says %q, and served is %t", name, endpoint, word, is)
			}
		}
		for name := range ours[endpoint] {
			if p.rows[endpoint][name] == "" {
				t.Errorf("%s of %s is served and not in the table", name, endpoint)
			}
		}
	}
}

func TestReasonsStillHold(t *testing.T) {
	p := readPage(t)
	named := map[string]bool{"served": true}
	for endpoint, rows := range p.rows {
		for name, word := range rows {
			if named[word] = true; word != "served" {
				if _, is := p.reasons[word]; !is {
					t.Errorf("%s of %s: there is no reason %q", name, endpoint, word)
				}
			}
		}
	}
	for reason, until := range p.reasons {
		if !named[reason] {
			t.Errorf("nothing is missing for the reason %q", reason)
		}
		if _, err := os.Stat(path.Join(toRoot, until)); until != "" && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%q is no reason any more: there is %s", reason, until)
		}
	}
}

func TestServedMetricsHaveUpstreamsShape(t *testing.T) {
	ours := served(t)
	for endpoint, shapes := range upstream(t) {
		for name, want := range shapes {
			f := ours[endpoint][name]
			if f == nil || want == (shape{}) {
				continue
			}
			got := shape{strings.ToLower(f.GetType().String()), strings.Join(labelNames(f), ","), f.GetHelp()}
			if got != want {
				t.Errorf("%s of %s:\ngot  %q\nwant %q", name, endpoint, got, want)
			}
		}
	}
}

// labelNames returns the label names of all samples, sorted.
func labelNames(f *dto.MetricFamily) []string {
	names := map[string]bool{}
	for _, m := range f.Metric {
		for _, l := range m.Label {
			names[l.GetName()] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}
