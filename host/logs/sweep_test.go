package logs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestSweepRemovesLinksToNowhere(t *testing.T) {
	dir := t.TempDir()
	l := Layout{Pods: filepath.Join(dir, "pods"), Links: filepath.Join(dir, "containers")}
	if err := l.Sweep(); err != nil {
		t.Errorf("before the first link: %v", err)
	}
	old := runOf("web", "uid-1")
	run := old
	run.Attempt = 1
	kept, err := l.Path(run)
	gone, err2 := l.Path(old)
	if err := errors.Join(err, err2, makeContainerDir(l, run), os.WriteFile(kept, nil, 0o600),
		l.Link(run.Key, "main", "id1", kept), l.Link(run.Key, "main", "id0", gone),
		os.Symlink(filepath.Join(dir, "elsewhere"), filepath.Join(l.Links, "foreign.log")),
		os.WriteFile(filepath.Join(l.Links, "file.log"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := l.Sweep(); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(l.Links)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	if want := []string{"file.log", "foreign.log", "web_default_main-id1.log"}; !slices.Equal(names, want) {
		t.Errorf("left %q, want %q", names, want)
	}
	if _, err := os.Lstat(kept); errors.Is(err, fs.ErrNotExist) {
		t.Error("the log itself is gone")
	}
}
