package stats

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

var start = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// spending is a summary of one container that has spent so many milliseconds.
func spending(at time.Time, spent uint64) *statsapi.Summary {
	cpu := func() *statsapi.CPUStats {
		return &statsapi.CPUStats{Time: metav1.NewTime(at), UsageCoreNanoSeconds: new(spent * 1e6)}
	}
	return &statsapi.Summary{
		Node: statsapi.NodeStats{CPU: cpu()},
		Pods: []statsapi.PodStats{{
			PodRef: statsapi.PodReference{UID: "1"}, CPU: cpu(),
			Containers: []statsapi.ContainerStats{{Name: "main", CPU: cpu(), Memory: &statsapi.MemoryStats{WorkingSetBytes: new(uint64(5))}}},
		}},
	}
}

func TestRatesComeFromTheFiguresBefore(t *testing.T) {
	for _, c := range []struct {
		name          string
		since         time.Duration
		before, after uint64
		want          uint64 // nanocores; 0: none
	}{
		{"half a processor", 2 * time.Second, 1000, 2000, 500_000_000},
		{"counts that began anew", 2 * time.Second, 1000, 10, 0},
		{"figures of long ago", time.Hour, 1000, 2000, 0},
		{"the same moment", 0, 1000, 2000, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			now := spending(start.Add(c.since), c.after)
			rates(spending(start, c.before), now)
			for _, cpu := range []*statsapi.CPUStats{now.Node.CPU, now.Pods[0].CPU, now.Pods[0].Containers[0].CPU} {
				if got := cpu.UsageNanoCores; got == nil && c.want != 0 || got != nil && *got != c.want {
					t.Errorf("got %v, want %d", got, c.want)
				}
			}
		})
	}
}

func TestHistoryGoesBackAQuarterOfAnHour(t *testing.T) {
	past := requested{}
	for second := range 1200 { // which is longer
		past.add(spending(start, uint64(second)), start.Add(time.Duration(second)*time.Second))
	}
	usages := past["1"]["main"]
	if len(usages) != 90 {
		t.Fatalf("got %d usages, want 90", len(usages))
	}
	if last := usages[89]; last.CPU != 1190*time.Millisecond || last.WorkingSet != 5 || last.Cores >= 0 {
		t.Errorf("the last is %+v", last)
	}
	if age := usages[89].At.Sub(usages[0].At); age != 89*spacing {
		t.Errorf("they go back %s", age)
	}
	past.add(&statsapi.Summary{}, start.Add(time.Hour))
	if len(past) != 0 {
		t.Errorf("an hour later %v is left", past)
	}
}
