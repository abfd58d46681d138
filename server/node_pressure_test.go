package server

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"nodal/node"
	"nodal/node/health"
	"nodal/reconciler"
)

// shortNode serves a node that is short of memory, and has enough of its disk.
func shortNode(t *testing.T, ranking Ranking) *node1 {
	t.Helper()
	return newNode(t, func(c *Config) {
		c.Machine.Vitals = reconciler.NewVitals(reconciler.VitalsConfig{
			Runtime: c.Machine.Containers.(*scriptedRuntime), Clock: time.Now, Log: slog.New(slog.DiscardHandler),
			Rules: []health.Rule{
				{Signal: health.MemoryAvailable, Least: health.Threshold{Quantity: resource.MustParse("100Mi")}, Reclaim: health.Threshold{Quantity: resource.MustParse("50Mi")}},
				{Signal: health.NodeFsAvailable, Least: health.Threshold{Percent: 10}, Grace: 90 * time.Second},
			},
			Signals: func(context.Context) health.Reading {
				return health.Reading{
					Signals: []health.Signal{{Name: health.NodeFsAvailable, Left: 2 << 30, Capacity: 10 << 30}, {Name: health.MemoryAvailable, Left: 64 << 20, Capacity: 1 << 30}},
					Unread:  []health.Unread{{Name: health.PIDAvailable, Why: "no such file"}},
				}
			},
		})
		c.Machine.Ranking = ranking
	})
}

func TestPressureIsShownWithThePodsThatWouldGo(t *testing.T) {
	asked := ""
	n := shortNode(t, func(_ context.Context, signal string, p health.Pressure) (string, []node.EvictionCandidate, error) {
		asked = signal
		return p.Crossings[0].Rule.Signal, []node.EvictionCandidate{{
			Key: node.Key{Namespace: "default", Name: "greedy"}, UID: "u1", Used: "1Gi", Requested: "0", Priority: 7, Why: "uses 1Gi and requests nothing; priority 7",
		}}, errors.New("pod default/web: cannot be measured")
	})
	got := n.do(t, "GET", "/v1/node/pressure", "")
	for _, want := range []string{
		`{"name":"memory.available","capacity":"1Gi","available":"64Mi","thresholds":[{"least":"100Mi","minimumReclaim":"50Mi","crossedAt":"`,
		`"due":true}]},{"name":"nodefs.available","capacity":"10Gi","available":"2Gi","thresholds":[{"least":"1Gi","grace":"90s"}]},{"name":"pid.available","message":"no such file"}]`,
		`"signal":"memory.available"`,
		`"pods":[{"namespace":"default","name":"greedy","uid":"u1","used":"1Gi","requested":"0","priority":7,"reason":"uses 1Gi and requests nothing; priority 7"}]`,
		`"message":"pod default/web: cannot be measured"`, `"measuredAt":"`,
	} {
		if got.status != 200 || !strings.Contains(got.body, want) {
			t.Errorf("got %d %s, want %s in it", got.status, got.body, want)
		}
	}
	if n.do(t, "GET", "/v1/node/pressure?signal=nodefs.available", ""); asked != health.NodeFsAvailable {
		t.Errorf("the ranking was asked for %q, want the disk", asked)
	}
	if got := n.do(t, "GET", "/v1/node/pressure?signal=gold", ""); got.status != 400 || !strings.Contains(got.body, "memory.available") {
		t.Errorf("got %d %s, want 400 and the names of signals", got.status, got.body)
	}
}
