package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	"nodal/test/agent"
	"nodal/test/claim"
	"nodal/test/rig"
)

func TestFullDiskRefusesNewPodsAndServesTheRest(t *testing.T) {
	claim.Shows(t, "Restarts and faults", "a full disk refuses new pods, and reads and deletions go on while a program takes each byte that gets free")
	n := prepare(t)
	if err := os.MkdirAll(n.Root(), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", n.Root(), "tmpfs", 0, "size=4m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := errors.Join(n.Stop(), unix.Unmount(n.Root(), 0))
		if err != nil {
			t.Error(err)
		}
	})
	n.up()
	n.apply(bundle(web("kept"), web("doomed"), web("next")))
	n.waitRunning("kept")
	n.waitRunning("doomed")
	n.waitRunning("next")
	// The agent journals the readiness at about the time it shows it, which frees space. A command
	// takes longer than that.
	n.curl("/v1/namespaces/default/pods/doomed/containers/main:run", "-d", `{"command": ["/probe", "exit", "0"]}`)
	filler := fill(t, n.Root())
	got := n.curl("/v1/manifests", "--data-binary", web("late").yaml())
	if got.code != 507 || !strings.Contains(got.body, "NO_SPACE") {
		t.Errorf("apply on a full disk: got %s, want 507 NO_SPACE", got)
	}
	if got := n.grpcurl("node.v1.ManifestsService/Apply", n.jsonOf(map[string]string{"manifest": web("late").yaml()})); !strings.Contains(got.body, "ResourceExhausted") {
		t.Errorf("apply over gRPC on a full disk: got %s, want ResourceExhausted", got)
	}
	if got := n.curl("/v1/pods"); got.code != 200 || strings.Contains(got.body, `"late"`) || !strings.Contains(got.body, `"kept"`) {
		t.Errorf("list on a full disk: got %s, want the pods that were taken", got)
	}
	enough := keepFull(t, filler)
	n.deletePod("doomed", "")
	n.deletePod("next", "")
	enough()
	n.Kill()
	n.up()
	n.waitRunning("kept")
	if got := n.sandboxes(""); got != 1 {
		t.Errorf("after a restart on the full disk there are %d sandboxes, want 1", got)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	n.apply(web("late").yaml())
	n.waitRunning("late")
}

// TestAPullThatFillsTheDisk gives the runtime a disk for images that fills up during a pull.
func TestAPullThatFillsTheDisk(t *testing.T) {
	claim.Shows(t, "Images", "a pull that finds the disk full waits with the reason, its neighbours run on, and it goes on by itself once there is room")
	t.Parallel()
	n := prepareOn(t, rig.Containerd(t, rig.Disk(96<<20)), func(c *agent.Config) {
		c.Settings["imageGCHighThresholdPercent"] = 100 // no image is removed to free space
	})
	n.up()
	n.apply(web("neighbour").yaml())
	before := containerStatus(n.waitRunning("neighbour"), "main")
	image, err := probeImage(24 << 20)
	if err != nil {
		t.Fatal(err)
	}
	ref, err := n.rt.Push("big:1", image)
	if err != nil {
		t.Fatal(err)
	}
	filler := fill(t, n.rt.DiskDir())
	// Leave enough for the start of the pull, and for the neighbours.
	if err := os.Truncate(filler, sizeOf(t, filler)-8<<20); err != nil {
		t.Fatal(err)
	}
	big := pod{name: "big", apps: []program{{name: "main", image: ref, args: []string{"pause"}}}}
	n.apply(big.yaml())
	n.wait("big", "it waits with the reason", func(p *corev1.Pod) bool {
		w := containerStatus(p, "main").State.Waiting
		return pullFails(p) && strings.Contains(w.Message, "no space left on device")
	})
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	n.waitRunning("big")
	if after := containerStatus(n.waitRunning("neighbour"), "main"); after.ContainerID != before.ContainerID {
		t.Errorf("the neighbour runs as %s, before it was %s", after.ContainerID, before.ContainerID)
	}
}

// TestAFullDiskOfLogsCostsNoPod gives the logs of containers a disk of their own, which something else fills.
func TestAFullDiskOfLogsCostsNoPod(t *testing.T) {
	claim.Shows(t, "Logs", "a full disk of logs is reported and costs what is printed meanwhile; pods run and start, and logs go on once there is room")
	n := prepare(t, func(c *agent.Config) { c.Settings["containerLogMonitorInterval"] = "3s" })
	if err := errors.Join(os.MkdirAll(n.PodLogs(), 0o755), unix.Mount("tmpfs", n.PodLogs(), "tmpfs", 0, "size=4m")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(n.Stop(), unix.Unmount(n.PodLogs(), unix.MNT_DETACH)); err != nil {
			t.Error(err)
		}
	})
	n.up()
	const counts = "i=0; while echo line $i; do i=$((i+1)); sleep 0.1; done; echo it has failed"
	n.apply(shell("before", counts).yaml())
	n.waitRunning("before")
	n.apply(shell("past", "echo kept").yaml())
	n.waitRunning("past")
	n.deletePod("past", "")
	filler := fill(t, n.PodLogs())
	n.eventually("the full disk is reported", func() bool { return strings.Contains(n.curl("/v1/events").body, `"LogDiskFull"`) })
	if kept := n.curl("/v1/logs").body; strings.Contains(kept, "past") {
		t.Errorf("logs of a deleted pod are kept on a full disk: %s", kept)
	}
	n.apply(shell("meanwhile", counts).yaml())
	n.waitRunning("meanwhile")
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"before", "meanwhile"} {
		log := "/v1/namespaces/default/pods/" + name + "/containers/main/logs?tailLines=1"
		last := n.curl(log).body
		n.eventually("the log of "+name+" goes on", func() bool { return n.curl(log).body != last })
		n.runsUnharmed(name)
	}
}

func sizeOf(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// keepFull takes all space that gets free, until the returned function is called.
func keepFull(t *testing.T, filler string) (enough func()) {
	t.Helper()
	f, err := os.OpenFile(filler, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			case <-time.After(time.Millisecond):
				_, _ = f.Write(make([]byte, 64<<10)) // it writes as much as there is room for
			}
		}
	}()
	return sync.OnceFunc(func() { close(done); <-ended; f.Close() })
}

// fill uses up the free space of a directory's file system with a file.
func fill(t *testing.T, dir string) (filler string) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, size := range []int{64 << 10, 1} { // the last bytes one by one
		for err == nil {
			_, err = f.Write(make([]byte, size))
		}
		if !errors.Is(err, unix.ENOSPC) {
			t.Fatalf("fill the disk: %v", err)
		}
		err = nil
	}
	return f.Name()
}
