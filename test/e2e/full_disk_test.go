package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"nodal/test/claim"
)

func TestFullDiskRefusesNewPodsAndServesTheRest(t *testing.T) {
	claim.Shows(t, "Restarts and faults", "a full disk refuses new pods, and reads and deletions go on")
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
	n.apply(bundle(web("kept"), web("doomed")))
	n.waitRunning("kept")
	n.waitRunning("doomed")
	n.fill()
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
	n.deletePod("doomed", "")
	n.Kill()
	n.up()
	n.waitRunning("kept")
	if got := n.sandboxes(""); got != 1 {
		t.Errorf("after a restart on the full disk there are %d sandboxes, want 1", got)
	}
	if err := os.Remove(filepath.Join(n.Root(), "filler")); err != nil {
		t.Fatal(err)
	}
	n.apply(web("late").yaml())
	n.waitRunning("late")
}

// fill takes all the space that the agent's disk has left.
func (n *node) fill() {
	n.t.Helper()
	f, err := os.Create(filepath.Join(n.Root(), "filler"))
	if err != nil {
		n.t.Fatal(err)
	}
	defer f.Close()
	for _, size := range []int{64 << 10, 1} { // the last bytes one by one
		for err == nil {
			_, err = f.Write(make([]byte, size))
		}
		if !errors.Is(err, unix.ENOSPC) {
			n.t.Fatalf("fill the disk: %v", err)
		}
		err = nil
	}
}
