package logs

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"nodal/node"
)

func TestCleanRemovesTheLogsOfPods(t *testing.T) {
	dir := t.TempDir()
	l := Layout{Pods: filepath.Join(dir, "pods"), Links: filepath.Join(dir, "containers")}
	if err := l.Clean([]string{"uid-1"}); err != nil {
		t.Errorf("before the first pod: %v", err)
	}
	for _, run := range []node.LogRun{runOf("web", "uid_1"), runOf("web", "uid-2")} {
		path, err := l.Path(run)
		if err := errors.Join(err, makeContainerDir(l, run), os.WriteFile(path, nil, 0o600),
			l.Link(run.Key, "main", "of-"+string(run.UID), path)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		uid  string
		want []string
	}{
		{"uid_1", []string{"containers/web_default_main-of-uid-2.log", "pods/default_web_uid-2"}},
		{"uid-2", nil},
	} {
		if err := l.Clean([]string{c.uid}); err != nil {
			t.Fatal(err)
		}
		got, err := filepath.Glob(filepath.Join(dir, "*/*"))
		for i := range got {
			got[i], _ = filepath.Rel(dir, got[i])
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("without %s there is %q, want %q", c.uid, got, c.want)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("left %v, %v", entries, err)
	}
}

func TestCleanLeavesLinksAndFilesInPlaceOfItsDirectories(t *testing.T) {
	dir := t.TempDir()
	l := Layout{Pods: filepath.Join(dir, "pods"), Links: filepath.Join(dir, "containers")}
	elsewhere := t.TempDir()
	if err := errors.Join(os.Symlink(elsewhere, l.Pods), os.WriteFile(l.Links, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := l.Clean(nil); err == nil {
		t.Error("a file in the place of the links is not told")
	}
	for _, path := range []string{l.Pods, l.Links, elsewhere} {
		if _, err := os.Lstat(path); err != nil {
			t.Error(err)
		}
	}
}
