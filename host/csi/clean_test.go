package csi

import (
	"os"
	"path/filepath"
	"testing"
)

func TestCleanLeavesWhatIsStaged(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "plugins")
	if staged, err := Clean(dir); staged || err != nil {
		t.Errorf("a node without drivers: %t, %v", staged, err)
	}
	volume := filepath.Join(dir, stagedIn, "disk.example.com", "hash")
	other := filepath.Join(dir, stagedIn, "other.example.com")
	for _, made := range []string{volume, other} {
		if err := os.MkdirAll(made, 0o750); err != nil {
			t.Fatal(err)
		}
	}
	if staged, err := Staged(dir); !staged || err != nil {
		t.Errorf("with a volume, before: %t, %v", staged, err)
	}
	if staged, err := Clean(dir); !staged || err != nil {
		t.Errorf("with a volume: %t, %v", staged, err)
	}
	if _, err := os.Stat(volume); err != nil {
		t.Errorf("the volume goes: %v", err)
	}
	if _, err := os.Stat(other); !os.IsNotExist(err) {
		t.Errorf("the directory of a driver without volumes stays: %v", err)
	}
	if err := os.Remove(volume); err != nil {
		t.Fatal(err)
	}
	if staged, err := Staged(dir); staged || err != nil {
		t.Errorf("without a volume, before: %t, %v", staged, err)
	}
	if staged, err := Clean(dir); staged || err != nil {
		t.Errorf("without a volume: %t, %v", staged, err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the empty directory stays: %v", err)
	}
}
