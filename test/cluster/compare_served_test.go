package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	runtimev1 "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/test/differences"
)

// paths are served by every kubelet, or by none.
var paths = []string{
	"/healthz", "/healthz/ping", "/livez", "/pods", "/runningpods/", "/spec", "/logs/", "/metrics", "/metrics/cadvisor", "/metrics/resource",
	"/metrics/probes", "/metrics/slis", "/stats/", "/stats/summary", "/configz", "/debug/pprof/", "/debug/flags/v", "/flagz", "/statusz", "/no-such-path",
}

// readKubelet reads what the kubelet serves, and what its pods see.
func (s *side) readKubelet() {
	s.t.Helper()
	must(s.t, s.facts.Add("configz", s.plain(s.read("/configz"))))
	s.facts["/etc/hosts"] = s.inside("plain", "head -n 1 /etc/hosts")
	s.facts["/etc/hosts with hostNetwork"] = s.inside("hostly", "head -n 1 /etc/hosts")
	for _, path := range paths {
		answer := s.askKubelet(path)
		answer.Body.Close()
		s.facts["GET "+path] = fmt.Sprint(answer.StatusCode, " ", answer.Header.Get("Content-Type"))
	}
	var summary map[string]any
	must(s.t, json.Unmarshal(s.read("/stats/summary"), &summary))
	s.facts.Shape("/stats/summary", summary)
	for _, path := range []string{"/metrics", "/metrics/resource"} {
		s.readMetrics(path)
	}
}

// readMetrics notes the type and the labels of each family.
func (s *side) readMetrics(path string) {
	s.t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(s.read(path)))
	must(s.t, err)
	for name, family := range families {
		s.facts[path+" "+name] = strings.ToLower(family.GetType().String()) + " " + labels(family)
	}
}

// dropListedMetrics drops families that one kubelet serves now, and the other does not, if docs/METRICS.md tells of them:
// some appear with their first event, and others never here. A test of that page knows which.
func dropListedMetrics(t *testing.T, upstream, here differences.Facts) {
	t.Helper()
	page, err := os.ReadFile("../../docs/METRICS.md")
	must(t, err)
	for _, pair := range [][2]differences.Facts{{upstream, here}, {here, upstream}} {
		maps.DeleteFunc(pair[0], func(fact, _ string) bool {
			path, name, ok := strings.Cut(fact, " ")
			_, both := pair[1][fact]
			return ok && strings.HasPrefix(path, "/metrics") && !both && strings.Contains(string(page), "| `"+name+"` |")
		})
	}
}

func labels(family *dto.MetricFamily) string {
	names := map[string]bool{}
	for _, m := range family.GetMetric() {
		for _, l := range m.GetLabel() {
			names[l.GetName()] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(names)), " ")
}

// inside runs a script in a container, past the kubelet.
func (s *side) inside(pod, script string) string {
	s.t.Helper()
	list, err := s.rt.CRI().ListContainers(s.t.Context(), &runtimev1.ListContainersRequest{Filter: &runtimev1.ContainerFilter{
		LabelSelector: map[string]string{"io.kubernetes.pod.name": pod},
	}})
	must(s.t, err)
	if len(list.GetContainers()) != 1 {
		s.t.Fatalf("pod %s has %d containers", pod, len(list.GetContainers()))
	}
	reply, err := s.rt.CRI().ExecSync(s.t.Context(), &runtimev1.ExecSyncRequest{
		ContainerId: list.GetContainers()[0].GetId(), Cmd: []string{"sh", "-c", script},
	})
	must(s.t, err)
	return strings.TrimSpace(string(reply.GetStdout()) + string(reply.GetStderr()))
}
