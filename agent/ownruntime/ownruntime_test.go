package ownruntime

import (
	"log/slog"
	"testing"

	"nodal/agent/config"
	"nodal/host/registry"
	"nodal/host/runtime/embedded"
)

func TestConfiguredSandboxImageBeatsThatOfTheBinary(t *testing.T) {
	images, err := registry.Open(registry.Config{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := sandboxImage("registry/pause:1", images); err != nil || got != "registry/pause:1" {
		t.Errorf("configured: got %q (%v), want registry/pause:1", got, err)
	}
	got, err := sandboxImage("", images)
	if inside := embedded.Pause() != nil; err != nil || inside == (got == config.DefaultSandboxImage) {
		t.Errorf("not configured, image inside: %t: got %q (%v)", inside, got, err)
	}
}

func TestPodsOfTwoNodesHaveCgroupsOfTheirOwn(t *testing.T) {
	if one, two := PodCgroup("/var/lib/one"), PodCgroup("/var/lib/two"); one == two {
		t.Errorf("both nodes' pods are in %s", one)
	}
}
