package stats

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nodal/node/store"
)

// asked collects again.
func asked(t *testing.T, c *Collector) *collection {
	t.Helper()
	c.usage.taken, c.whole.taken = time.Time{}, time.Time{}
	found, _ := c.whole.get(t.Context()) // without images
	return found
}

func spentBy(found *collection) uint64 { return *found.Pods[0].Containers[0].CPU.UsageCoreNanoSeconds }

func TestFilesThatStayOpenAreReadAnew(t *testing.T) {
	c, dir := kernelCollector(t, 1)
	defer c.tree.forget()
	asked(t, c)
	open := c.tree.open.Load()
	if open == 0 {
		t.Fatal("no file stays open")
	}
	lay(t, dir, map[string]string{"cpuacct/kubepods/pod2/cri-containerd-c2.scope/cpuacct.usage": "4000000000\n"})
	if got := spentBy(asked(t, c)); got != 4e9 {
		t.Errorf("got %d, want what the kernel counts now", got)
	}
	if again := c.tree.open.Load(); again != open {
		t.Errorf("%d files are open after two collections, %d after one", again, open)
	}
}

func TestACgroupMadeAnewIsRead(t *testing.T) {
	c, dir := kernelCollector(t, 1)
	defer c.tree.forget()
	asked(t, c)
	// The files of a cgroup that was removed cannot be read any more.
	for _, g := range c.tree.known {
		for _, file := range g.files {
			_ = file.Close()
		}
	}
	lay(t, dir, map[string]string{"cpuacct/kubepods/pod2/cri-containerd-c2.scope/cpuacct.usage": "5\n"})
	if got := spentBy(asked(t, c)); got != 5 {
		t.Errorf("got %d, want what the new cgroup counts", got)
	}
}

func TestFilesOfPodsThatAreGoneAreClosed(t *testing.T) {
	c, _ := kernelCollector(t, 2)
	defer c.tree.forget()
	asked(t, c)
	c.config.Views = func() ([]store.View, int64) { return nil, 0 }
	asked(t, c)
	if got := c.tree.open.Load(); got != 0 {
		t.Errorf("%d files of a pod that is gone are open", got)
	}
}

func TestFilesCloseAfterTheLastRequest(t *testing.T) {
	c, _ := kernelCollector(t, 2)
	synctest.Test(t, func(t *testing.T) {
		asked(t, c)
		<-time.After(openFor + time.Second)
		synctest.Wait()
		if got := c.tree.open.Load(); got != 0 {
			t.Errorf("%d files are open after %s", got, openFor)
		}
		if got := spentBy(asked(t, c)); got != 3e9 {
			t.Errorf("who asks then gets %d, want 3 s", got)
		}
		c.tree.forget()
		c.tree.idle.Stop()
	})
}

func TestMoreThanMayStayOpenIsReadAllTheSame(t *testing.T) {
	c, _ := kernelCollector(t, 1)
	defer c.tree.forget()
	c.tree.open.Store(mostOpen)
	if got := spentBy(asked(t, c)); got != 3e9 {
		t.Errorf("got %d, want 3 s", got)
	}
	if got := c.tree.open.Load(); got != mostOpen {
		t.Errorf("%d files are open, want no more than %d", got, mostOpen)
	}
}

func TestAContainerThatEndsBetweenListAndReadIsLeftOut(t *testing.T) {
	for version := range kernels {
		c, dir := kernelCollector(t, version)
		groups, _ := c.groups()
		gone, err := filepath.Glob(filepath.Join(dir, "*", "kubepods/pod2/cri-containerd-c2.scope"))
		if version == 2 {
			gone = []string{filepath.Join(dir, "kubepods/pod2/cri-containerd-c2.scope")}
		}
		if err != nil || len(gone) == 0 {
			t.Fatalf("version %d: found %q to remove (%v)", version, gone, err)
		}
		for _, path := range gone {
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
		}
		found := &collection{}
		fill, _ := c.kernelPods(groups)
		fill(found)
		if len(found.Pods) != 1 || len(found.Pods[0].Containers) != 0 || *found.Pods[0].CPU.UsageCoreNanoSeconds != 3e9 {
			t.Errorf("version %d: got %+v, want the pod without its container", version, found.Pods)
		}
		c.tree.forget()
	}
}

// writtenBy returns the bytes that the kernel has counted for the container's disks.
func writtenBy(t *testing.T, c *Collector) uint64 {
	t.Helper()
	c.usage.taken, c.whole.taken, c.cgroups.taken = time.Time{}, time.Time{}, time.Time{}
	infos, _ := c.Cgroups(t.Context()) // without images
	for _, info := range infos {
		if filepath.Base(info.Name) == "cri-containerd-c2.scope" {
			return info.Stats[0].DiskIo.IoServiceBytes[0].Stats["Write"]
		}
	}
	t.Fatalf("the container is not among %d cgroups", len(infos))
	return 0
}

func TestDiskSizesAreReadWhenTheCountsHaveChanged(t *testing.T) {
	c, dir := kernelCollector(t, 1)
	defer c.tree.forget()
	const in = "blkio/kubepods/pod2/cri-containerd-c2.scope/blkio.throttle."
	if got := writtenBy(t, c); got != 1024 {
		t.Errorf("got %d bytes, want 1024", got)
	}
	lay(t, dir, map[string]string{in + "io_service_bytes_recursive": "9999:0 Read 512\n9999:0 Write 4096\n"})
	if got := writtenBy(t, c); got != 1024 {
		t.Errorf("got %d bytes, want that nobody asked for them before something was written", got)
	}
	lay(t, dir, map[string]string{in + "io_serviced_recursive": "9999:0 Read 1\n9999:0 Write 3\n"})
	if got := writtenBy(t, c); got != 4096 {
		t.Errorf("got %d bytes, want 4096", got)
	}
}

func TestFilesThatOnlySomeAskForLeaveRoomForTheOthers(t *testing.T) {
	c, _ := kernelCollector(t, 1)
	defer c.tree.forget()
	c.tree.open.Store(mostOfRest)
	if got := writtenBy(t, c); got != 1024 {
		t.Errorf("got %d bytes, want 1024", got)
	}
	for _, g := range c.tree.known {
		if _, open := g.files["memory.stat"]; !open {
			t.Errorf("what everybody asks for of %s is not open", g.path)
		}
		if _, open := g.files["memory.oom_control"]; open {
			t.Errorf("what only some ask for of %s is open", g.path)
		}
	}
}

func TestATextIsReadWholeHoweverLongItIs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "long")
	r := newReader()
	for _, size := range []int{0, 1, surely - 1, surely, 8 << 10, 8<<10 + 1, 100_000, 5} {
		want := strings.Repeat("x", size)
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := file.SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := r.read(path); string(got) != want || err != nil {
			t.Errorf("of %d bytes %d are read (%v)", size, len(got), err)
		}
		if got, err := r.readOpen(raw); string(got) != want || err != nil {
			t.Errorf("of %d bytes %d are read of an open file (%v)", size, len(got), err)
		}
		file.Close()
		if _, err := r.readOpen(raw); err == nil {
			t.Error("a closed file was read")
		}
	}
}
