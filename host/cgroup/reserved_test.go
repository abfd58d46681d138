package cgroup

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nodal/node/limit"
)

func TestACgroupOfOthersIsHeldToItsReservation(t *testing.T) {
	k := openTree(t)
	others := k.root + "/others"
	if err := k.mounts.make(others); err != nil {
		t.Fatal(err)
	}
	theirs := limit.Limits{CPUShares: 512, CPUQuota: 50_000, Memory: 256 << 20, Pids: 500}
	if err := k.mounts.bound(others, theirs); err != nil {
		t.Fatal(err)
	}
	steps := []struct {
		name string
		hold limit.Limits
		want limit.Limits
	}{
		{"only to CPUs", limit.Limits{CPUShares: 1024}, limit.Limits{CPUShares: 1024, CPUQuota: 50_000, Memory: 256 << 20, Pids: 500}},
		{"only to memory", limit.Limits{Memory: 128 << 20}, limit.Limits{CPUShares: 1024, CPUQuota: 50_000, Memory: 128 << 20, Pids: 500}},
		{"to all", limit.Limits{CPUShares: 300, Memory: 64 << 20, Pids: 100}, limit.Limits{CPUShares: 300, CPUQuota: 50_000, Memory: 64 << 20, Pids: 100}},
		{"to nothing", limit.Limits{}, limit.Limits{CPUShares: 300, CPUQuota: 50_000, Memory: 64 << 20, Pids: 100}},
	}
	for _, s := range steps {
		if err := k.mounts.Hold(t.Context(), others, s.hold); err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
		k.holds("/others", s.want)
	}
	if err := k.mounts.Hold(t.Context(), others+"-not-there", limit.Limits{Pids: 1}); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), others+"-not-there") {
		t.Errorf("got %v, want an error that names the cgroup", err)
	}
}

func TestACgroupIsFoundByItsPathOrAsASlice(t *testing.T) {
	tree := t.TempDir()
	for _, dir := range []string{"a/b", "system.slice", "machine.slice/machine-pods.slice"} {
		if err := os.MkdirAll(filepath.Join(tree, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for cgroup, want := range map[string]string{
		"/a/b": "a/b", "a/b": "a/b", "/system.slice": "system.slice", "system.slice": "system.slice",
		"machine-pods.slice": "machine.slice/machine-pods.slice", "/machine.slice/machine-pods.slice": "machine.slice/machine-pods.slice",
		"/a/c": "", "other.slice": "", "../../etc": "",
	} {
		got, err := find(tree, cgroup)
		if want != "" {
			want = filepath.Join(tree, want)
		}
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: found %q (%v), want %q", cgroup, got, err, want)
		}
	}
}

func TestSystemdHoldsASliceOfOthersToo(t *testing.T) {
	if _, err := os.Stat(systemdSocket); err != nil || os.Getuid() != 0 {
		t.Skip("systemd does not run here, or not for us")
	}
	mounts, err := FindMounts()
	if err != nil {
		t.Skip(err)
	}
	const slice = "nodaltest-others.slice"
	systemd := newSystemd(mounts.Version)
	if err := systemd.start(t.Context(), slice, limit.Limits{CPUShares: 512, Memory: 256 << 20, Pids: 500}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := systemd.stop(context.Background(), slice); err != nil {
			t.Error(err)
		}
	})
	if err := mounts.make(parseRoot(slice).slices()); err != nil {
		t.Fatal(err)
	}
	if err := mounts.Hold(t.Context(), slice, limit.Limits{Memory: 64 << 20}); err != nil {
		t.Fatal(err)
	}
	name := map[int]string{1: "MemoryLimit", 2: "MemoryMax"}[mounts.Version]
	got, err := exec.Command("systemctl", "show", "--property", name+",TasksMax", slice).Output()
	if err != nil || !strings.Contains(string(got), name+"=67108864\n") || !strings.Contains(string(got), "TasksMax=500\n") {
		t.Errorf("systemd knows %q (%v), want %s of 64 MiB and the rest as it was", got, err, name)
	}
}
