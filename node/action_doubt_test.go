package node

import (
	"maps"
	"slices"
	"testing"

	"nodal/node/limit"
)

func TestDoubtForgetsOnlyWhatAFailureLeavesOpen(t *testing.T) {
	for _, c := range []struct {
		name    string
		action  interface{ Doubt(*Observed) }
		parts   []string // that stay known, by facility
		images  int
		limited bool
	}{
		{"a cgroup whose limits could not be set", SetUp{Facility: Cgroup}, []string{"volumes/data", "volumes/image"}, 1, true},
		{"a volume that could not be laid out", SetUpVolume("data", "2"), []string{"cgroup/", "volumes/data", "volumes/image"}, 1, true},
		{"volumes of which some may be gone", TearDown{Volumes}, []string{"cgroup/"}, 1, true},
		{"a container that could not be made", CreateContainer{Container: "app"}, []string{"cgroup/", "volumes/data"}, 0, true},
		{"one that may have other limits", ResizeContainer{ID: "c1"}, []string{"cgroup/", "volumes/data", "volumes/image"}, 1, false},
		{"another one", ResizeContainer{ID: "c2"}, []string{"cgroup/", "volumes/data", "volumes/image"}, 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := &Observed{
				Images:     map[string]Image{"app": {ID: "sha256:a"}},
				Containers: []Container{{ID: "c1", Limits: &limit.Limits{}}},
			}
			before.Lay(Cgroup, "", Part{})
			before.Lay(Volumes, "data", Part{Version: "1"})
			before.Lay(Volumes, "image", Part{Image: "sha256:b"})
			got := before.Clone()
			c.action.Doubt(got)
			if parts := partsOf(got); !slices.Equal(parts, c.parts) {
				t.Errorf("the parts %v stay known, want %v", parts, c.parts)
			}
			if len(got.Images) != c.images || (got.Containers[0].Limits != nil) != c.limited {
				t.Errorf("%d images stay known and limits %v, want %d and %t", len(got.Images), got.Containers[0].Limits, c.images, c.limited)
			}
			if len(partsOf(before)) != 3 || len(before.Images) != 1 || before.Containers[0].Limits == nil {
				t.Errorf("the observation that was copied has changed: %+v", before)
			}
		})
	}
}

// partsOf returns the known parts of all facilities, sorted.
func partsOf(o *Observed) (parts []string) {
	for _, f := range Facilities() {
		for _, name := range slices.Sorted(maps.Keys(o.Laid[f].Parts)) {
			parts = append(parts, f.String()+"/"+name)
		}
	}
	return parts
}
