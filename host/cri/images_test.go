package cri_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"nodal/node"
	sim "nodal/sim/cri"
)

func TestPull(t *testing.T) {
	world := sim.Config{Images: []sim.Image{
		{Ref: "remote:1", ID: "sha256:old", Local: true},
		{Ref: "secret:1", PullError: status.Error(codes.Unavailable, "the registry is down")},
	}}
	onSim(t, world, func(f *fixture, server *sim.Server) {
		server.SetImage(sim.Image{Ref: "remote:1", ID: "sha256:new", Size: 12})
		if got := f.pull("remote:1"); got.ID != "sha256:new" || got.Size != 12 {
			f.Errorf("got %+v, want what the registry has now", got)
		}
		for ref, reason := range map[string]string{
			"nothing:1": node.ErrImagePull,
			"secret:1":  node.ErrImagePull, // the runtime's answer, though its code says that it did not come
		} {
			_, err := f.cri.Pull(f.Context(), ref, nil)
			f.wantFailure(err, reason)
		}
	})
}

func TestPullThatLostTheRuntimeIsUnknown(t *testing.T) {
	world := sim.Config{Images: []sim.Image{{Ref: "remote:1", PullTime: time.Minute}}}
	onSim(t, world, func(f *fixture, server *sim.Server) {
		failed := make(chan error, 1)
		go func() {
			_, err := f.cri.Pull(f.Context(), "remote:1", nil)
			failed <- err
		}()
		synctest.Wait()
		server.Crash()
		f.wantUnknown(<-failed)
	})
}

func TestImageIsFoundByItsNames(t *testing.T) {
	onSim(t, sim.Config{}, func(f *fixture, server *sim.Server) {
		image, err := f.cri.Image(f.Context(), testImage)
		if err != nil || image == nil || image.ID == "" {
			f.Fatalf("got %+v, %v, want the image", image, err)
		}
		if byID, err := f.cri.Image(f.Context(), image.ID); err != nil || byID == nil || byID.ID != image.ID {
			f.Errorf("by its id: got %+v, %v", byID, err)
		}
		if got, err := f.cri.Image(f.Context(), "elsewhere:1"); got != nil || err != nil {
			f.Errorf("got %+v, %v, want nothing", got, err)
		}
		server.Inject(sim.Faults{Rules: []sim.Rule{{Method: "ImageStatus", Kind: sim.ErrorBefore, Code: codes.Internal}}})
		_, err = f.cri.Image(f.Context(), testImage)
		f.wantFailure(err, node.ImageInspectError)
		server.Inject(sim.Faults{Rules: []sim.Rule{{Method: "ImageStatus", Kind: sim.Hang}}})
		_, err = f.cri.Image(f.Context(), testImage)
		f.wantUnknown(err)
	})
}

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
