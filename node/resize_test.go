package node

import (
	"testing"
	"time"

	"nodal/node/limit"
)

func TestARunIsBehindItsLimits(t *testing.T) {
	kept := limit.Limits{CPUShares: 2, MemoryLow: 4096}
	for _, c := range []struct {
		name    string
		pod     Pod
		run     Container
		allowed limit.Limits
		want    bool
	}{
		{"known, the same", Pod{}, Container{Limits: &kept}, kept, false},
		{"known, others", Pod{}, Container{Limits: &kept}, limit.Limits{CPUShares: 2}, true},
		{"made by an earlier agent", Pod{}, Container{}, limit.Limits{CPUShares: 2}, false},
		{"and resized since", Pod{Resized: time.Unix(1, 0)}, Container{}, limit.Limits{CPUShares: 2}, true},
		{"and the shared CPUs may be others", Pod{}, Container{}, limit.Limits{CPUs: "0-1"}, true},
		{"and its memory is to be kept now", Pod{}, Container{Inspected: true}, kept, true},
		{"which nobody knows before the runtime was asked", Pod{}, Container{}, kept, false},
		{"and is kept already", Pod{}, Container{Inspected: true, Guard: kept.Guard()}, kept, false},
		{"and is kept no more", Pod{}, Container{Inspected: true, Guard: kept.Guard()}, limit.Limits{CPUShares: 2}, true},
	} {
		if got := c.pod.Behind(&c.run, c.allowed); got != c.want {
			t.Errorf("%s: got %t, want %t", c.name, got, c.want)
		}
	}
}
