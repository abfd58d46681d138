package server

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// busy is a machine on which all that has figures uses a quarter of a core, by a clock of its own.
type busy struct {
	scriptedStats
	looks atomic.Int64
}

func (b *busy) Summary(context.Context) (*statsapi.Summary, error) {
	look := uint64(b.looks.Add(1))
	cpu := &statsapi.CPUStats{Time: metav1.NewTime(testNow.Add(time.Duration(look) * 10 * time.Second)), UsageCoreNanoSeconds: new(look * 2_500_000_000)}
	memory := &statsapi.MemoryStats{WorkingSetBytes: new(uint64(3 << 20))}
	pod := func(name, uid string, cpu *statsapi.CPUStats) statsapi.PodStats {
		return statsapi.PodStats{
			PodRef:     statsapi.PodReference{Name: name, Namespace: "default", UID: uid},
			Containers: []statsapi.ContainerStats{{Name: "main", CPU: cpu, Memory: memory}},
		}
	}
	return &statsapi.Summary{
		Node: statsapi.NodeStats{NodeName: "node1", CPU: cpu, Memory: memory},
		Pods: []statsapi.PodStats{pod("web", "uid-1", cpu), pod("db", "uid-2", nil), pod("gone", "uid-9", cpu)},
	}, nil
}

func TestKubernetesAPIServesFigures(t *testing.T) {
	n := newNode(t, func(c *Config) { c.Machine.Stats = &busy{} })
	n.apply(t, manifestOf("web"))
	n.apply(t, manifestOf("db"))
	const nodes, pods = "/apis/metrics.k8s.io/v1beta1/nodes", "/apis/metrics.k8s.io/v1beta1/namespaces/default/pods"
	for _, c := range []struct {
		name, path string
		status     int
		want       string
		without    string
	}{
		{"the node", nodes, 200, `"timestamp":"2026-05-01T12:0`, "web"},
		{"its use", nodes, 200, `"usage":{"cpu":"250m","memory":"3Mi"},"window":"`, "web"},
		{"the node by name", nodes + "/node1", 200, `"kind":"NodeMetrics"`, "items"},
		{"another node", nodes + "/other", 404, "NotFound", "usage"},
		{"pods that have figures", pods, 200, `"containers":[{"name":"main","usage":{"cpu":"250m","memory":"3Mi"}}]`, `"db"`},
		{"and are there", pods, 200, `"labels":{"app":"web"}`, `"gone"`},
		{"pods of all namespaces", "/apis/metrics.k8s.io/v1beta1/pods", 200, `"kind":"PodMetricsList"`, `"db"`},
		{"by label", pods + "?labelSelector=app%3Ddb", 200, `"items":[]`, "web"},
		{"by name", pods + "?fieldSelector=metadata.name%3Dweb", 200, `"name":"web"`, "db"},
		{"a wrong selector", pods + "?labelSelector=%21%21", 400, "selector", "web"},
		{"one pod", pods + "/web", 200, `"kind":"PodMetrics"`, "items"},
		{"a pod without figures", pods + "/db", 404, `pods.metrics.k8s.io \"db\" not found`, "usage"},
		{"discovery", "/apis/metrics.k8s.io/v1beta1", 200, `"kind":"PodMetrics"`, "deletecollection"},
		{"schemas", "/openapi/v3/apis/metrics.k8s.io/v1beta1", 200, "io.k8s.metrics.pkg.apis.metrics.v1beta1.PodMetrics", "nothing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := n.do(t, "GET", c.path, "")
			if got.status != c.status || !strings.Contains(got.body, c.want) || strings.Contains(got.body, c.without) {
				t.Errorf("got %d %.2000s\nwant %d and %s without %s", got.status, got.body, c.status, c.want, c.without)
			}
		})
	}
}

func TestFiguresComeAsATableToo(t *testing.T) {
	n := newNode(t, func(c *Config) { c.Machine.Stats = &busy{} })
	n.apply(t, manifestOf("web"))
	got := n.do(t, "GET", "/apis/metrics.k8s.io/v1beta1/pods", "", "Accept", "application/json;as=Table;g=meta.k8s.io;v=v1")
	if got.status != http.StatusOK || !strings.Contains(got.body, `"cells":["web","250m","3Mi","10s"]`) {
		t.Errorf("got %d %s", got.status, got.body)
	}
}
