package server

import (
	"context"
	"strings"
	"testing"
	"time"

	"log/slog"

	"k8s.io/apimachinery/pkg/api/resource"

	"nodal/node"
	"nodal/node/health"
	"nodal/reconciler"
)

const twoPods = `apiVersion: v1
kind: Pod
metadata: {name: small}
spec: {containers: [{name: main, image: nodal.test/busybox:1, resources: {requests: {memory: 100Mi}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: large}
spec: {containers: [{name: main, image: nodal.test/busybox:1, resources: {requests: {memory: LARGE}}}]}
`

func TestAPlanForeseesWhomItWouldEvict(t *testing.T) {
	n := newNode(t, func(c *Config) {
		c.Machine.Vitals = reconciler.NewVitals(reconciler.VitalsConfig{
			Runtime: c.Machine.Containers.(*scriptedRuntime), Clock: time.Now, Log: slog.New(slog.DiscardHandler),
			Rules: []health.Rule{{Signal: health.MemoryAvailable, Least: health.Threshold{Quantity: resource.MustParse("100Mi")}}},
			Signals: func(context.Context) health.Reading {
				return health.Reading{Signals: []health.Signal{{Name: health.MemoryAvailable, Left: 512 << 20, Capacity: 1 << 30}}}
			},
		})
		c.Machine.Ranking = func(context.Context, string, health.Pressure) (string, []node.EvictionCandidate, error) {
			return "", []node.EvictionCandidate{{Key: node.Key{Namespace: "default", Name: "greedy"}, Why: "priority 0"}}, nil
		}
	})
	const warning = "memory.available falls to 92Mi, below the threshold of 100Mi: the node then evicts pod default/greedy (priority 0) or this one"
	for _, c := range []struct {
		name, large string
		warned      int
	}{
		{"what is left is enough", "312Mi", 0},
		{"the second pod is too much", "320Mi", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := n.do(t, "POST", "/v1/manifests:plan", strings.ReplaceAll(twoPods, "LARGE", c.large))
			at := strings.Index(got.body, `"large"`)
			if got.status != 200 || strings.Count(got.body[max(0, at):], warning) != c.warned || strings.Count(got.body, warning) != c.warned {
				t.Errorf("got %d %s, want %d warnings, of the second pod", got.status, got.body, c.warned)
			}
		})
	}
	if got := n.do(t, "POST", "/v1/manifests", strings.ReplaceAll(twoPods, "LARGE", "320Mi")); got.status != 200 {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	if got := n.do(t, "POST", "/v1/manifests:plan", strings.ReplaceAll(twoPods, "LARGE", "321Mi")); got.status != 200 || strings.Contains(got.body, "threshold") {
		t.Errorf("got %d %s, want no warning: the pods have what they request", got.status, got.body)
	}
}
