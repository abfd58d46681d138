package audit

import (
	"fmt"
	"testing"
	"time"
)

func TestAFloodLeavesAFewEntriesAndANumber(t *testing.T) {
	var f Flood
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	taken := 0
	for range 10_000 {
		if f.Take("192.0.2.1", now) {
			taken++
		}
	}
	if !f.Take("192.0.2.2", now) || taken != floodEach || !f.Owes() {
		t.Errorf("%d entries were taken of one address, and none of another", taken)
	}
	got := f.Drain()
	if want := (Uncounted{"192.0.2.1", 10_000 - floodEach}); len(got) != 1 || got[0] != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if f.Owes() || !f.Take("192.0.2.1", now) {
		t.Error("after that it does not begin again")
	}
}

func TestAFloodFromEverywhereIsBoundedToo(t *testing.T) {
	var f Flood
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	taken, left := 0, int64(0)
	for i := range 50_000 {
		if f.Take(fmt.Sprintf("2001:db8::%x", i), now) {
			taken++
		}
	}
	lines := f.Drain()
	for _, one := range lines {
		left += one.Count
	}
	if taken > floodAll || len(lines) > floodKeys+1 || int64(taken)+left != 50_000 {
		t.Errorf("%d entries, %d numbers, which stand for %d", taken, len(lines), left)
	}
}

func TestSlowRefusalsAreAllKept(t *testing.T) {
	var f Flood
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for i := range 1000 {
		now = now.Add(FloodWindow / (floodEach - 1))
		if !f.Take("192.0.2.1", now) {
			t.Fatalf("the refusal %d was left out", i)
		}
	}
}
