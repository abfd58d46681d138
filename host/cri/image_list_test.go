package cri_test

import (
	"slices"
	"testing"

	"nodal/node"
	sim "nodal/sim/cri"
)

func TestImagesAreListedUnderAllTheirNames(t *testing.T) {
	world := sim.Config{Images: []sim.Image{
		{Ref: "registry.test/a:1", ID: "sha256:a", Size: 7, Local: true, Pinned: true},
		{Ref: "registry.test/a:2", ID: "sha256:a", Local: true},
		{Ref: "registry.test/elsewhere:1"},
	}}
	onSim(t, world, func(f *fixture, _ *sim.Server) {
		images, err := f.cri.ListImages(f.Context())
		if err != nil {
			f.Fatal(err)
		}
		i := slices.IndexFunc(images, func(i node.LocalImage) bool { return i.ID == "sha256:a" })
		if i < 0 || len(images) != 2 {
			f.Fatalf("got %+v, want the two that are local", images)
		}
		want := []string{"registry.test/a:1", "registry.test/a:2"}
		if got := images[i]; !slices.Equal(slices.Sorted(slices.Values(got.References)), want) || len(got.Digests) != 2 || got.Size != 7 || !got.Pinned {
			f.Errorf("got %+v, want references %q, two digests, 7 bytes, pinned", got, want)
		}
	})
}
