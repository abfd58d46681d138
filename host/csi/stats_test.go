package csi

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	csiapi "github.com/container-storage-interface/spec/lib/go/csi"

	"nodal/node"
)

func TestADriverSaysHowFullItsVolumeIs(t *testing.T) {
	b := newBench(t)
	if _, err := b.Use(t.Context(), b.pub.Path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of a volume that is not published it says %v", err)
	}
	if err := errors.Join(b.stage(), b.publish()); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Use(t.Context(), b.pub.Path); !errors.Is(err, node.ErrUnsupported) {
		t.Errorf("without GET_VOLUME_STATS it says %v", err)
	}
	b.more = []string{node.TellsUse}
	b.usage = []*csiapi.VolumeUsage{
		{Unit: csiapi.VolumeUsage_BYTES, Total: 1000, Available: -1, Used: 10}, {Unit: csiapi.VolumeUsage_INODES, Total: 7, Available: 5, Used: 2}, {Total: 3},
	}
	use, err := b.Use(t.Context(), b.pub.Path)
	if err != nil {
		t.Fatal(err)
	}
	if *use.Capacity != 1000 || *use.Used != 10 || use.Available != nil || *use.Inodes != 7 || *use.InodesFree != 5 || *use.InodesUsed != 2 {
		t.Errorf("got %+v, want what the driver says, and nothing of a figure below zero", use)
	}
	b.fails["use"] = errors.New("bad")
	if _, err := b.Use(t.Context(), b.pub.Path); err == nil || !strings.Contains(err.Error(), "bad") {
		t.Errorf("of a driver that fails it says %v", err)
	}
}
