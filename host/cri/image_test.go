package cri_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	sim "nodal/sim/cri"
)

func TestImages(t *testing.T) {
	world := sim.Config{Images: []sim.Image{
		{Ref: "remote:1", Size: 12 << 20, PullTime: 1200 * time.Millisecond},
		{Ref: "secret:1", PullError: status.Error(codes.Unavailable, "the registry is down")},
	}}
	for _, test := range []struct {
		name   string
		ref    string
		policy corev1.PullPolicy
		note   string
		reason string
	}{
		{"there already", testImage, corev1.PullIfNotPresent, "already present", ""},
		{"there, and only there", testImage, corev1.PullNever, "already present", ""},
		{"pulled", "remote:1", corev1.PullIfNotPresent, "pulled in 1.2s, 12 MiB", ""},
		{"pulled though it is there", testImage, corev1.PullAlways, "pulled in 0s, 1 MiB", ""},
		{"not there and never pulled", "remote:1", corev1.PullNever, "", "ErrImageNeverPull"},
		{"nowhere", "nothing:1", corev1.PullIfNotPresent, "", "ErrImagePull"},
		{"a registry that is down is the runtime's answer", "secret:1", corev1.PullAlways, "", "ErrImagePull"},
		{"no reference", "No Such", corev1.PullAlways, "", "InvalidImageName"},
	} {
		t.Run(test.name, func(t *testing.T) {
			onSim(t, world, func(f *fixture, _ *sim.Server) {
				got, err := f.cri.Do(f.Context(), f.pod, nil, node.EnsureImage{Container: "main", Ref: test.ref, Policy: test.policy})
				if test.reason != "" {
					f.wantFailure(err, test.reason)
					return
				}
				if err != nil || !strings.HasPrefix(got.ID, "sha256:") || got.Note != test.note {
					t.Errorf("got %q %q, %v, want an id and %q", got.ID, got.Note, err, test.note)
				}
			})
		})
	}
}

func TestPullThatLostTheRuntimeIsUnknown(t *testing.T) {
	world := sim.Config{Images: []sim.Image{{Ref: "remote:1", PullTime: time.Minute}}}
	onSim(t, world, func(f *fixture, server *sim.Server) {
		failed := make(chan error, 1)
		go func() { failed <- f.try(node.EnsureImage{Container: "main", Ref: "remote:1"}) }()
		synctest.Wait()
		server.Crash()
		f.wantUnknown(<-failed)
	})
}
