package stats

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"nodal/node"
)

// asked collects anew.
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
	c.config.Views = func() ([]node.View, int64) { return nil, 0 }
	asked(t, c)
	if got := c.tree.open.Load(); got != 0 {
		t.Errorf("%d files of a pod that is gone are open", got)
	}
}

func TestNoFileStaysOpenOnceNobodyAsks(t *testing.T) {
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
		c.kernelPods(groups)(found)
		if len(found.Pods) != 1 || len(found.Pods[0].Containers) != 0 || *found.Pods[0].CPU.UsageCoreNanoSeconds != 3e9 {
			t.Errorf("version %d: got %+v, want the pod without its container", version, found.Pods)
		}
		c.tree.forget()
	}
}
