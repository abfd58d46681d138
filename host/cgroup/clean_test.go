package cgroup

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestNothingIsLeftOfANodeThatIsCleaned(t *testing.T) {
	pod := podOf("u-1", amounts("500m", "64Mi"), amounts("1", "128Mi"))
	k := openTree(t, pod)
	k.setUp(pod)
	process := k.put(pod)
	c := Config{Mounts: k.mounts, Root: k.root}
	if err := Clean(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	k.gone("/kubepods")
	if err := process.Wait(); err == nil {
		t.Error("what ran in a pod's cgroup ended well, want it killed")
	}
	if err := Clean(t.Context(), c); err != nil {
		t.Errorf("where nothing is left: %v", err)
	}
}

func TestNoSliceIsLeftOfANodeThatIsCleaned(t *testing.T) {
	if _, err := os.Stat("/run/systemd/private"); err != nil || os.Getuid() != 0 {
		t.Skip("systemd does not run here, or not for us")
	}
	mounts, err := FindMounts()
	if err != nil {
		t.Fatal(err)
	}
	c := Config{Mounts: mounts, Systemd: true, Name: "nodaltest-clean"}
	pod := podOf("u-1", nil, nil)
	tree, err := Open(t.Context(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	k := kernelTree{Tree: tree, t: t}
	k.setUp(pod)
	c.Systemd = false // as the command that cleans would not know
	if err := Clean(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	k.gone("/nodaltest_clean.slice")
}

func TestWhatIsLeftOfANodeIsFoundInBothPlaces(t *testing.T) {
	top := t.TempDir()
	c := Config{Mounts: Mounts{Version: 2, trees: []tree{{dir: top}}}, Name: "kubepods-1a"}
	if got := Left(c); len(got) != 0 {
		t.Errorf("where nothing is left: got %q", got)
	}
	want := []string{filepath.Join(top, "kubepods-1a"), filepath.Join(top, "kubepods_1a.slice")}
	for _, dir := range want {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if got := Left(c); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
