package node

import (
	"testing"

	"nodal/node/limit"
)

func TestLaidPartsAreNotSharedWithCopies(t *testing.T) {
	var old Observed
	old.Lay(Volumes, "a", Part{Version: "1"})
	copied := old.Clone()
	copied.Lay(Volumes, "a", Part{Version: "2"})
	copied.Lay(Volumes, "b", Part{Image: "sha256:b"})
	if part, _ := old.Part(Volumes, "a"); part.Version != "1" {
		t.Errorf("the version is %q in the observation that was copied, want 1", part.Version)
	}
	if _, ok := old.Part(Volumes, "b"); ok {
		t.Error("a part of the copy is part of the observation")
	}
	if images := copied.VolumeImages(); len(images) != 1 || images["b"] != "sha256:b" {
		t.Errorf("the images are %v, want that of b", images)
	}
}

func TestFacilityActionsAreReadable(t *testing.T) {
	for _, c := range []struct {
		action             Action
		text, kind, target string
	}{
		{SetUpCgroup(limit.Limits{CPUShares: 2}), "set up cgroup shares=2", "SetUpCgroup", "cgroup"},
		{SetUpVolume("data", "7"), "set up volume data 7", "SetUpVolume", "volume/data"},
		{SetUpVolume("data", ""), "set up volume data", "SetUpVolume", "volume/data"},
		{TearDown{Volumes}, "tear down volumes", "TearDownVolumes", "volumes"},
		{TearDown{Cgroup}, "tear down cgroup", "TearDownCgroup", "cgroup"},
		{Release{}, "release", "Release", "pod"},
	} {
		if got := c.action.String(); got != c.text {
			t.Errorf("got %q, want %q", got, c.text)
		}
		if kind, target := KindOf(c.action), c.action.Target(); kind != c.kind || target != c.target {
			t.Errorf("%s is a %s of %s, want a %s of %s", c.text, kind, target, c.kind, c.target)
		}
	}
}
