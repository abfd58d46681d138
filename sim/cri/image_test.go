package cri

import (
	"errors"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func TestPull(t *testing.T) {
	inBubble(t, Config{Images: []Image{
		{Ref: "slow:1", PullTime: time.Minute},
		{Ref: "private:1", PullError: status.Error(codes.Unauthenticated, "no credentials")},
		{Ref: "broken:1", PullError: errors.New("bad gateway")},
		{Ref: "one:1", ID: "sha256:same"},
		{Ref: "two:1", ID: "sha256:same"},
	}}, func(f *fixture) {
		images := runtime.NewImageServiceClient(f.conn)
		for _, c := range []struct {
			ref  string
			code codes.Code
			took time.Duration
		}{
			{"slow:1", codes.OK, time.Minute},
			{"private:1", codes.Unauthenticated, 0},
			{"broken:1", codes.Unknown, 0},
			{"unheard-of:1", codes.NotFound, 0},
			{"one:1", codes.OK, 0},
			{"two:1", codes.OK, 0},
		} {
			begin := time.Now()
			_, err := images.PullImage(f.Context(), &runtime.PullImageRequest{Image: &runtime.ImageSpec{Image: c.ref}})
			f.wantCode(err, c.code)
			if took := time.Since(begin); took != c.took {
				f.Errorf("pull of %s took %s, want %s", c.ref, took, c.took)
			}
		}
		// app:1, slow:1 and the image of two names.
		f.wantImages(images, 3, 4)
		_, err := images.RemoveImage(f.Context(), &runtime.RemoveImageRequest{Image: &runtime.ImageSpec{Image: "one:1"}})
		f.wantCode(err, codes.OK)
		f.wantImages(images, 2, 2)
	})
}

// wantImages checks how many images there are and how many references to them.
func (f *fixture) wantImages(images runtime.ImageServiceClient, wantImages, wantRefs int) {
	f.Helper()
	list, err := images.ListImages(f.Context(), &runtime.ListImagesRequest{})
	f.wantCode(err, codes.OK)
	if got := len(list.GetImages()); got != wantImages {
		f.Errorf("got %d images, want %d", got, wantImages)
	}
	if got := len(f.server.Snapshot().Images); got != wantRefs {
		f.Errorf("got %d references, want %d", got, wantRefs)
	}
}

func TestFullReferenceHasRegistryAndTag(t *testing.T) {
	for ref, want := range map[string]string{
		"app":                  "docker.io/library/app:latest",
		"app:1":                "docker.io/library/app:1",
		"team/app:1":           "docker.io/team/app:1",
		"localhost/app":        "localhost/app:latest",
		"127.0.0.1:5000/a/b:2": "127.0.0.1:5000/a/b:2",
		"registry.example/app": "registry.example/app:latest",
	} {
		if got := fullReference(ref); got != want {
			t.Errorf("%s: got %s, want %s", ref, got, want)
		}
	}
}

func TestAnImageIsMountedByAFullNameOnly(t *testing.T) {
	inBubble(t, Config{Images: []Image{{Ref: "data:1", ID: "sha256:data", Local: true}}}, func(f *fixture) {
		sandbox := f.sandbox("u1")
		for i, c := range []struct {
			image string
			code  codes.Code
		}{
			{"sha256:data", codes.OK},
			{"docker.io/library/data:1", codes.OK},
			{"data:1", codes.NotFound},
			{"data:2", codes.NotFound},
		} {
			_, err := f.cri.CreateContainer(f.Context(), &runtime.CreateContainerRequest{
				PodSandboxId: sandbox,
				Config: &runtime.ContainerConfig{
					Metadata: &runtime.ContainerMetadata{Name: "main", Attempt: uint32(i)}, Image: &runtime.ImageSpec{Image: testImage},
					Mounts: []*runtime.Mount{{ContainerPath: "/data", Readonly: true, Image: &runtime.ImageSpec{Image: c.image}}},
				},
			})
			f.wantCode(err, c.code)
		}
	})
}
