package evict

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"nodal/node/health"
)

// reading returns what is left of a signal at a time, with a threshold of 100 MiB or 100.
func reading(signal string, left int64, at time.Duration) health.Pressure {
	least := int64(100 << 20)
	if signal == health.PIDAvailable || signal == health.NodeFsInodesFree {
		least = 100
	}
	return health.Pressure{
		Reading: health.Reading{At: noon.Add(at), Signals: []health.Signal{{Name: signal, Left: left, Capacity: 1 << 40}}},
		Rules:   []health.Rule{{Signal: signal, Least: health.Threshold{Quantity: *resource.NewQuantity(least, resource.BinarySI)}}},
	}
}

func TestAnIdleNodeIsMeasuredSeldom(t *testing.T) {
	for _, c := range []struct {
		name   string
		signal string
		left   int64
		want   time.Duration
	}{
		{"memory is far from its threshold", health.MemoryAvailable, 22 << 30, 10 * time.Second},
		{"it rests near it", health.MemoryAvailable, 1 << 30, time.Second},
		{"a disk is far", health.NodeFsAvailable, 50 << 30, 10 * time.Second},
		{"it rests near", health.NodeFsAvailable, 200 << 20, time.Second},
		{"it is below", health.NodeFsAvailable, 1 << 20, time.Second},
		{"inodes", health.NodeFsInodesFree, 3_000_000, 10 * time.Second},
		{"processes", health.PIDAvailable, 600_000, 10 * time.Second},
	} {
		if got := Pace(reading(c.signal, c.left, 0), reading(c.signal, c.left, time.Second)); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
	if got := Pace(health.Pressure{}, health.Pressure{}); got != 10*time.Second {
		t.Errorf("without a threshold: got %s, want 10s", got)
	}
}

// TestACrossingIsNoticedSoon lets a signal fall at a speed from a rest of any length, and measures how long after the
// crossing the next measurement comes.
func TestACrossingIsNoticedSoon(t *testing.T) {
	for _, c := range []struct {
		name   string
		signal string
		start  int64
		speed  int64 // a second
		within time.Duration
	}{
		{"a disk fills at 200 MB/s", health.NodeFsAvailable, 20 << 30, 200_000_000, time.Second},
		{"a disk that has little left does", health.NodeFsAvailable, 300 << 20, 200_000_000, time.Second},
		{"memory goes at 1 GiB/s", health.MemoryAvailable, 22 << 30, 1 << 30, memoryPace},
		{"memory that has little left does", health.MemoryAvailable, 3 << 30, 1 << 30, memoryPace},
		{"files are made quickly", health.NodeFsInodesFree, 1_000_000, 50_000, time.Second},
		{"processes fork", health.PIDAvailable, 100_000, 10_000, time.Second},
	} {
		for offset := time.Duration(0); offset < idlePace; offset += 97 * time.Millisecond {
			before := reading(c.signal, c.start, 0)
			at := Pace(before, before)
			begins := min(offset, at) // of the fall, at any moment before the next measurement
			for crossed := false; !crossed; {
				now := reading(c.signal, max(0, c.start-int64((at-begins).Seconds()*float64(c.speed))), at)
				gap, _ := now.Gap(now.Signals[0])
				if crossed = gap < 0; crossed {
					if late := time.Duration(-gap) * time.Second / time.Duration(c.speed); late > c.within {
						t.Errorf("%s after %s: noticed %s late, want %s", c.name, offset, late, c.within)
					}
				}
				at, before = at+Pace(before, now), now
			}
		}
	}
}
