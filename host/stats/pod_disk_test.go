package stats

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nodal/node"
	"nodal/node/store"
)

// measured is a disk with what a test says, which may take its time.
type measured struct {
	places []node.DiskPlace
	takes  time.Duration
	fails  string // to measure what is called so
	walks  atomic.Int32
	stuck  chan struct{} // if not nil: Places waits for it, where the pod is called stuck
}

func (m *measured) Places(pod *node.Pod) ([]node.DiskPlace, error) {
	if m.stuck != nil && pod.Object.Name == "stuck" {
		<-m.stuck
	}
	return m.places, nil
}

func (m *measured) Measure(_ context.Context, dir string) (bytes, inodes uint64, err error) {
	m.walks.Add(1)
	<-time.After(m.takes)
	if m.fails != "" && filepath.Base(dir) == m.fails {
		return 0, 0, errors.New("cannot read " + m.fails)
	}
	return uint64(len(filepath.Base(dir))), 1, nil
}

// Ask knows one volume.
func (m *measured) Ask(_ context.Context, dir string) (node.VolumeUse, error) {
	if filepath.Base(dir) != "driven" {
		return node.VolumeUse{}, node.ErrUnsupported
	}
	capacity, used := uint64(1000), uint64(10)
	return node.VolumeUse{Capacity: &capacity, Used: &used}, nil
}

// diskCollector has a pod with three volumes and the logs of its container.
func diskCollector(t *testing.T) (*Collector, *measured) {
	c, dir := kernelCollector(t, 1)
	lay(t, dir, map[string]string{"scratch/f": "", "config/f": "", "data/f": "", "logs/f": ""})
	disk := &measured{places: []node.DiskPlace{
		{Dir: dir + "/scratch", Volume: "scratch", Ephemeral: true}, {Dir: dir + "/config", Volume: "config"},
		{Dir: dir + "/data", Volume: "data", Claim: "mine", Apart: true}, {Dir: dir + "/logs", Container: "main"},
		{Dir: dir + "/nowhere", Volume: "not made yet"},
	}}
	c.config.Disk, c.podDisks.disk, c.claims.disk = disk, disk, claimed{disk}
	return c, disk
}

func TestVolumesAndLogsAreMeasured(t *testing.T) {
	c, disk := diskCollector(t)
	defer c.tree.forget()
	disk.places = append(disk.places, node.DiskPlace{Dir: "/driven", Volume: "driven", Claim: "disk", Driven: true},
		node.DiskPlace{Dir: "/silent", Volume: "whose driver does not say", Driven: true})
	db := asked(t, c).Pods[0]
	if len(db.VolumeStats) != 4 {
		t.Fatalf("got %d volumes, want 4", len(db.VolumeStats))
	}
	scratch, config, data, driven := db.VolumeStats[0], db.VolumeStats[1], db.VolumeStats[2], db.VolumeStats[3]
	if scratch.Name != "scratch" || *scratch.UsedBytes != 7 || *scratch.InodesUsed != 1 || *scratch.CapacityBytes == 0 || *config.UsedBytes != 6 {
		t.Errorf("got %+v and %+v", scratch, config)
	}
	if data.PVCRef.Name != "mine" || data.PVCRef.Namespace != "default" || *data.UsedBytes == 4 {
		t.Errorf("got %+v, want what its file system says", data)
	}
	if driven.PVCRef.Name != "disk" || *driven.CapacityBytes != 1000 || *driven.UsedBytes != 10 || driven.AvailableBytes != nil {
		t.Errorf("got %+v, want what its driver says, and no more", driven)
	}
	if main := db.Containers[0]; *main.Logs.UsedBytes != 4 || *main.Logs.CapacityBytes == 0 {
		t.Errorf("the container's logs are %+v", main.Logs)
	}
	if e := db.EphemeralStorage; *e.UsedBytes != 7+4 || *e.CapacityBytes == 0 {
		t.Errorf("the pod has %d bytes of the node's disk, want those of scratch and logs", *e.UsedBytes)
	}
}

func TestFilesAreWalkedOnceAMinute(t *testing.T) {
	c, disk := diskCollector(t)
	synctest.Test(t, func(t *testing.T) {
		for range 5 {
			asked(t, c)
			<-time.After(10 * time.Second)
		}
		if got := disk.walks.Load(); got != 3 {
			t.Errorf("within a minute there are %d walks, want one for each of 3 directories", got)
		}
		<-time.After(diskAge)
		asked(t, c)
		if got := disk.walks.Load(); got != 6 {
			t.Errorf("later there are %d walks, want 6", got)
		}
		c.tree.forget()
		c.tree.idle.Stop()
	})
}

func TestAWalkThatTakesLongIsInALaterSummary(t *testing.T) {
	c, disk := diskCollector(t)
	disk.takes = 10 * time.Second
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if got := asked(t, c).Pods[0]; len(got.VolumeStats) != 0 || time.Since(began) > 2*diskPatience {
			t.Errorf("after %s got %+v, want none of them soon", time.Since(began), got.VolumeStats)
		}
		<-time.After(20 * time.Second)
		if _, err := c.readPodDisks(t.Context()); err != nil {
			t.Errorf("while it goes on: %v", err)
		}
		<-time.After(20 * time.Second)
		if got := asked(t, c).Pods[0]; len(got.VolumeStats) != 3 || disk.walks.Load() != 3 {
			t.Errorf("later got %+v after %d walks", got.VolumeStats, disk.walks.Load())
		}
		c.tree.forget()
		c.tree.idle.Stop()
	})
}

func TestADiskThatHangsKeepsNoOtherPodsFiguresBack(t *testing.T) {
	c, disk := diskCollector(t)
	db, stuck := podOn("db", "2", "c2"), podOn("stuck", "3", "c3")
	c.config.Views = func() ([]store.View, int64) { return []store.View{stuck, db}, 0 }
	synctest.Test(t, func(t *testing.T) {
		disk.stuck = make(chan struct{})
		pods := []*node.Pod{stuck.Slot.Pod, db.Slot.Pod}
		for range 3 {
			if _, err := c.readPodDisks(t.Context()); err != nil && !strings.Contains(err.Error(), "pod default/stuck: "+errHangs.Error()) {
				t.Error(err)
			}
			<-time.After(2 * diskAge)
		}
		if got := disk.walks.Load(); got != 9 {
			t.Errorf("the other pod's 3 directories were walked %d times, want 9", got)
		}
		if known, err := c.podDisks.of(pods); len(known) != 1 || err == nil || !strings.Contains(err.Error(), "pod default/stuck") {
			t.Errorf("got %d pods and %v, want db, and an error that names the other", len(known), err)
		}
		close(disk.stuck)
		synctest.Wait()
		if known, err := c.podDisks.of(pods); len(known) != 2 || err != nil {
			t.Errorf("once the disk answers: got %d pods and %v, want both", len(known), err)
		}
	})
}

func TestAVolumeThatCannotBeReadKeepsNoOtherBack(t *testing.T) {
	c, disk := diskCollector(t)
	defer c.tree.forget()
	disk.fails = "scratch"
	found, err := c.Summary(t.Context())
	if err == nil || !strings.Contains(err.Error(), "pod default/db: cannot read scratch") {
		t.Errorf("got %v, want an error that names it", err)
	}
	if got := found.Pods[0].VolumeStats; len(got) != 2 {
		t.Errorf("got %+v, want the other two", got)
	}
}
