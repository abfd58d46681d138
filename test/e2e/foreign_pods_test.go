package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"nodal/test/claim"
)

// TestPodsOfAnotherKubeletStay places another kubelet's pod beside the node's own.
func TestPodsOfAnotherKubeletStay(t *testing.T) {
	claim.Shows(t, "Volumes", "a crash's leftovers of an unknown pod are removed, and the directory of another kubelet's pod is left alone")
	n := prepare(t)
	theirs := filepath.Join(n.Root(), "pods/another-kubelets/volumes/kubernetes.io~empty-dir/data/file")
	left := filepath.Join(n.Root(), "pods/left-by-a-crash") // the sticky bit marks the node's own directories
	if err := errors.Join(os.MkdirAll(filepath.Dir(theirs), 0o750), os.WriteFile(theirs, []byte("data"), 0o600),
		os.MkdirAll(filepath.Join(left, "volumes"), 0o750), os.Chmod(left, 0o750|os.ModeSticky)); err != nil {
		t.Fatal(err)
	}
	n.up()
	n.eventually("what a crash has left is removed", func() bool { // the other pod's directory comes first in order
		_, err := os.Lstat(left)
		return errors.Is(err, os.ErrNotExist)
	})
	if got, err := os.ReadFile(theirs); err != nil || string(got) != "data" {
		t.Errorf("theirs holds %q (%v), want what it held", got, err)
	}
}
