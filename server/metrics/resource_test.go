package metrics

import (
	"bytes"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

func TestResourceIsReadByPrometheus(t *testing.T) {
	at := metav1.NewTime(time.UnixMilli(1_700_000_000_125))
	spent, bytesUsed := uint64(1_500_000_000), uint64(4096)
	cpu := &statsapi.CPUStats{Time: at, UsageCoreNanoSeconds: &spent}
	memory := &statsapi.MemoryStats{Time: at, WorkingSetBytes: &bytesUsed}
	summary := &statsapi.Summary{
		Node: statsapi.NodeStats{CPU: cpu, Memory: memory},
		Pods: []statsapi.PodStats{{
			PodRef: statsapi.PodReference{Name: "web", Namespace: "default"}, CPU: cpu, Memory: memory,
			Containers: []statsapi.ContainerStats{{Name: `a"b\c`, StartTime: at, CPU: cpu}},
		}},
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(Resource(summary, false)))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{
		"node_cpu_usage_seconds_total": 1.5, "node_memory_working_set_bytes": 4096,
		"pod_cpu_usage_seconds_total": 1.5, "pod_memory_working_set_bytes": 4096,
		"container_cpu_usage_seconds_total": 1.5, "container_start_time_seconds": 1_700_000_000.125,
		"resource_scrape_error": 1,
	} {
		f := families[name]
		if len(f.GetMetric()) != 1 {
			t.Errorf("%s: got %d samples, want 1", name, len(f.GetMetric()))
			continue
		}
		m := f.GetMetric()[0]
		if got := m.GetCounter().GetValue() + m.GetGauge().GetValue(); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
		delete(families, name)
	}
	for name := range families {
		t.Errorf("%s has samples of what is not known", name)
	}
}
