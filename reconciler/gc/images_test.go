package gc

import (
	"strings"
	"testing"
	"time"

	"nodal/node"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// image is one of so many bytes, seen and used so many minutes ago; used 0: never.
func image(id string, size int64, seen, used int) Image {
	i := Image{LocalImage: node.LocalImage{ID: id, Size: size}, Seen: noon.Add(-time.Duration(seen) * time.Minute)}
	if used > 0 {
		i.Used = noon.Add(-time.Duration(used) * time.Minute)
	}
	return i
}

func busy(i Image) Image   { i.Busy = true; return i }
func pinned(i Image) Image { i.Pinned = true; return i }

func ids(p Plan) string {
	var all []string
	for _, r := range p.Removals {
		all = append(all, r.Image.ID)
	}
	return strings.Join(all, " ")
}

func TestImages(t *testing.T) {
	policy := Policy{High: 85, Low: 80, MinAge: 2 * time.Minute}
	aged := policy
	aged.MaxAge = time.Hour
	full := Disk{Capacity: 1000, Available: 100} // 100 too little to come down to 80 %
	for _, c := range []struct {
		name   string
		policy Policy
		disk   Disk
		images []Image
		want   string
		short  int64
	}{
		{"a disk with room", policy, Disk{1000, 160}, []Image{image("a", 100, 60, 0)}, "", 0},
		{"a disk at the threshold", policy, Disk{1000, 150}, []Image{image("a", 100, 60, 0)}, "a", 0},
		{"no more than has to", policy, full, []Image{image("a", 60, 60, 30), image("b", 60, 60, 20), image("c", 60, 60, 10)}, "a b", 0},
		{"the least recently used first", policy, full, []Image{image("new", 100, 90, 5), image("old", 100, 60, 50)}, "old", 0},
		{"one that was never used before all", policy, full, []Image{image("old", 100, 60, 50), image("never", 100, 10, 0)}, "never", 0},
		{"of those never used the oldest", policy, full, []Image{image("b", 100, 10, 0), image("a", 100, 20, 0)}, "a", 0},
		{"one in use stays", policy, full, []Image{busy(image("a", 100, 60, 0))}, "", 100},
		{"one that is pinned stays", policy, full, []Image{pinned(image("a", 100, 60, 0))}, "", 100},
		{"one that came only now stays", policy, full, []Image{image("a", 100, 1, 0), image("b", 70, 2, 0)}, "b", 30},
		{"one unused for too long goes from an empty disk", aged, Disk{1000, 900}, []Image{image("a", 1, 90, 61), image("b", 1, 90, 60)}, "a", 0},
		{"without use the time counts from the first sight", aged, Disk{1000, 900}, []Image{image("a", 1, 61, 0), image("b", 1, 59, 0)}, "a", 0},
		{"in use it may be as old as it likes", aged, Disk{1000, 900}, []Image{busy(image("a", 1, 90, 0)), pinned(image("b", 1, 90, 0))}, "", 0},
		{"what goes for its age counts as room", aged, full, []Image{image("a", 100, 90, 0), image("b", 100, 30, 0)}, "a", 0},
		{"a threshold of 100 % is none", Policy{High: 100, Low: 80}, Disk{1000, 0}, []Image{image("a", 100, 60, 0)}, "", 0},
		{"a disk of which nothing is known", policy, Disk{}, []Image{image("a", 1, 60, 0)}, "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Images(c.images, c.disk, c.policy, noon)
			if ids(got) != c.want || got.Short != c.short {
				t.Errorf("got %q, short of %d, want %q, short of %d", ids(got), got.Short, c.want, c.short)
			}
			for _, r := range got.Removals {
				if r.Why == "" {
					t.Errorf("it does not say why %s goes", r.Image.ID)
				}
			}
		})
	}
}

func TestARemovalHasTheCauseThatThePolicyHas(t *testing.T) {
	policy := Policy{High: 85, Low: 80, MaxAge: time.Hour}
	got := Images([]Image{image("old", 10, 90, 61), image("big", 100, 60, 30)}, Disk{Capacity: 1000, Available: 100}, policy, noon)
	if len(got.Removals) != 2 || got.Removals[0].Cause != node.CauseAge || got.Removals[1].Cause != node.CauseSpace {
		t.Errorf("got %+v, want one for its age and one for the space", got.Removals)
	}
	if asked := Unused([]Image{image("a", 1, 60, 0)}); len(asked.Removals) != 1 || asked.Removals[0].Cause != node.CauseAsked {
		t.Errorf("got %+v, want that it was asked for", asked.Removals)
	}
}

func TestUnused(t *testing.T) {
	got := Unused([]Image{image("new", 1, 0, 0), busy(image("busy", 1, 60, 0)), pinned(image("pinned", 1, 60, 0)), image("old", 1, 60, 30)})
	if ids(got) != "new old" {
		t.Errorf("got %q, want all that nothing uses", ids(got))
	}
}
