package gc

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"nodal/node"
)

func TestEachUnusedImageSaysWhenItGoesOrWhyItStays(t *testing.T) {
	policy := Policy{High: 85, Low: 80, MinAge: 2 * time.Minute}
	aged, off := policy, policy
	aged.MaxAge, off.High = time.Hour, 100
	full, roomy := Disk{Capacity: 1000, Available: 100}, Disk{Capacity: 1000, Available: 600}
	next := noon.Add(5 * time.Minute)
	for _, c := range []struct {
		name   string
		policy Policy
		disk   Disk
		images []Image
		want   string // id, minutes until it goes, and a part of the reason, of each
	}{
		{"what is in use is none", policy, full, []Image{busy(image("a", 100, 60, 1))}, ""},
		{"a full disk", policy, full, []Image{image("new", 10, 1, 0), image("late", 100, 90, 5), image("old", 100, 90, 60)},
			"old 5 the disk is 90 % full; new - first seen less than 2m0s ago; late - is 90 % full, and unused images go from 85 % on"},
		{"room on the disk", policy, roomy, []Image{image("a", 100, 90, 60)}, "a - is 40 % full, and unused images go from 85 % on"},
		{"an age", aged, roomy, []Image{image("young", 10, 90, 20), image("old", 10, 90, 61)},
			"old 5 more than 1h0m0s; young 40 is 40 % full"},
		{"one that is pinned", aged, full, []Image{pinned(image("a", 1, 90, 0))}, "a - pinned"},
		{"no threshold", off, full, []Image{image("a", 100, 90, 60)}, "a - imageGCHighThresholdPercent is 100"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Left(c.images, c.disk, c.policy, noon, next)
			wants := strings.Split(c.want, "; ")
			if c.want == "" {
				wants = nil
			}
			if len(got) != len(wants) {
				t.Fatalf("got %+v, want %q", got, wants)
			}
			for i, want := range wants {
				checkImage(t, got[i], want)
			}
		})
	}
}

func checkImage(t *testing.T, got node.Garbage, want string) {
	t.Helper()
	words := strings.SplitN(want, " ", 3)
	goes := "-"
	if !got.Goes.IsZero() {
		goes = fmt.Sprint(got.Goes.Sub(noon).Minutes())
	}
	if got.Kind != node.GarbageImage || got.Name != words[0] || goes != words[1] || !strings.Contains(got.Why+got.Kept, words[2]) {
		t.Errorf("got %+v, which goes in %s minutes, want %q", got, goes, want)
	}
}
