package agent

import (
	"log/slog"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"nodal/host/lowmem"
	"nodal/node/health"
)

func TestAMachineWithoutNoticesOfMemorySaysSoOnce(t *testing.T) {
	least := health.Threshold{Quantity: resource.MustParse("100")}
	room := func(left int64) health.Pressure {
		return health.Pressure{
			Reading: health.Reading{Signals: []health.Signal{{Name: health.MemoryAvailable, Left: left, Capacity: 1000}}},
			Rules:   []health.Rule{{Signal: health.MemoryAvailable, Least: least}},
		}
	}
	for _, c := range []struct {
		name    string
		version int
		left    int64
		want    int
	}{
		{"version 1 is asked", 1, 500, 1},
		{"not during a shortage, which is measured soon anyway", 1, 50, 0},
		{"version 2 has no such notice", 2, 500, 0},
	} {
		var log strings.Builder
		n := &notices{Notices: lowmem.New(), version: c.version, memory: t.TempDir(), log: slog.New(slog.NewTextHandler(&log, nil))}
		n.arm(room(c.left))
		n.arm(room(c.left))
		if got := strings.Count(log.String(), "no notice of used memory"); got != c.want {
			t.Errorf("%s: logged %d times, want %d: %s", c.name, got, c.want, log.String())
		}
	}
}
