package evict

import (
	"testing"
	"time"

	"nodal/node"
	"nodal/node/health"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// due lists crossings of signals, each since noon.
func due(signals ...string) (all []health.Crossing) {
	for _, name := range signals {
		all = append(all, health.Crossing{Rule: health.Rule{Signal: name}, Since: noon, Due: true})
	}
	return all
}

func TestDisksAreClearedBeforeAPodGoes(t *testing.T) {
	at := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
	const memory, disk, pid = health.MemoryAvailable, health.NodeFsAvailable, health.PIDAvailable
	for _, c := range []struct {
		name string
		in   Situation
		want Deed
		of   string
	}{
		{"nothing is short", Situation{Now: at(9)}, Rest, ""},
		{"memory cannot be cleared", Situation{Due: due(memory), Now: at(0)}, Evict, memory},
		{"a disk is", Situation{Due: due(disk), Now: at(0)}, Reclaim, disk},
		{"clearing takes a while", Situation{Due: due(disk), Reclaiming: true, Reclaimed: at(0), Now: at(5)}, Rest, ""},
		{"a pod goes if it was not enough", Situation{Due: due(disk), Reclaimed: at(0), Now: at(5)}, Evict, disk},
		{"what was cleared before the shortage is not enough", Situation{Due: due(disk), Reclaimed: at(-5), Now: at(0)}, Reclaim, disk},
		{"what the pod has left is cleared too", Situation{Due: due(disk), Reclaimed: at(0), Ended: at(6), Now: at(7)}, Reclaim, disk},
		{"then another pod goes", Situation{Due: due(disk), Reclaimed: at(7), Ended: at(6), Now: at(9)}, Evict, disk},
		{"images may have become unused meanwhile", Situation{Due: due(disk), Reclaimed: at(0), Now: at(60)}, Reclaim, disk},
		{"one pod at a time", Situation{Due: due(memory), Ending: true, Now: at(0)}, Await, memory},
		{"whatever the resource", Situation{Due: due(pid), Ending: true, Now: at(0)}, Await, pid},
		{"memory does not wait for the clearing of a disk", Situation{Due: due(memory, disk), Reclaiming: true, Now: at(0)}, Evict, memory},
		{"nor do processes", Situation{Due: due(disk, pid), Reclaiming: true, Now: at(0)}, Evict, pid},
		{"memory comes first", Situation{Due: due(memory, disk), Now: at(0)}, Evict, memory},
	} {
		if got := Next(c.in); got.Do != c.want || got.For.Rule.Signal != c.of {
			t.Errorf("%s: got %s for %q, want %s for %q", c.name, got.Do, got.For.Rule.Signal, c.want, c.of)
		}
	}
}

func TestFilesThatCountForADisk(t *testing.T) {
	all, files, layers := node.DiskParts{Files: true, Layers: true}, node.DiskParts{Files: true}, node.DiskParts{Layers: true}
	for _, c := range []struct {
		signal string
		apart  bool
		want   node.DiskParts
	}{
		{"nodefs.available", false, all}, {"imagefs.inodesFree", false, all}, {"nodefs.inodesFree", true, files},
		{"imagefs.available", true, layers}, {"containerfs.available", true, layers},
	} {
		if got := partsOf(c.signal, c.apart); got != c.want {
			t.Errorf("%s, images apart %t: got %+v, want %+v", c.signal, c.apart, got, c.want)
		}
	}
}
