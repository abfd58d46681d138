package source

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nodal/node"
	"nodal/node/store"
)

func TestMissingDirectory(t *testing.T) {
	t.Run("at the start it delivers nothing and is waited for", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "later")
		r, file := newFile(t, dir)
		r.run(file.Run)
		r.until("the source has delivered", r.ready)
		r.until("the board shows the error", func() bool { return r.errors()["later"] != "" })
		must(t, os.Mkdir(dir, 0o700))
		r.until("the board is clear", func() bool { return len(r.errors()) == 0 })
		write(t, filepath.Join(dir, "web.yaml"), podYAML("web", "a:1"))
		r.untilPods("web-node-1=a:1")
	})
	t.Run("at the start it keeps the pods of before", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "pods")
		r, watch := left(t, dir)
		must(t, os.RemoveAll(dir))
		after := NewFile(FileConfig{Path: dir, Sink: r.Sink})
		for range 2 {
			after.turn(watch, true)
			if got, want := r.pods(), "web-node-1=a:1"; got != want || !r.ready() {
				t.Errorf("pods = %s, delivered: %t; want %s, delivered", got, r.ready(), want)
			}
		}
	})
	t.Run("files that are written once it is there are waited for", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "pods")
		r, watch := left(t, dir)
		must(t, os.RemoveAll(dir))
		after := NewFile(FileConfig{Path: dir, Sink: r.Sink})
		after.settled = time.Hour
		after.turn(watch, true)
		must(t, os.Mkdir(dir, 0o700))
		write(t, filepath.Join(dir, "web.yaml"), podYAML("web", "a"))
		if wait := after.turn(watch, true); wait <= 0 {
			t.Error("a file that was just written is not waited for")
		}
		if got, want := r.pods(), "web-node-1=a:1"; got != want {
			t.Errorf("pods = %s, want %s", got, want)
		}
	})
	t.Run("later it keeps the pods and says so", func(t *testing.T) {
		root := t.TempDir()
		dir := filepath.Join(root, "pods")
		must(t, os.Mkdir(dir, 0o700))
		write(t, filepath.Join(dir, "web.yaml"), podYAML("web", "a:1"))
		r, file := newFile(t, dir)
		file.poll = 5 * time.Millisecond
		r.run(file.Run)
		r.untilPods("web-node-1=a:1")
		must(t, os.Rename(dir, filepath.Join(root, "away")))
		r.until("the board shows the error", func() bool { return r.errors()["pods"] != "" })
		if got, want := r.pods(), "web-node-1=a:1"; got != want {
			t.Errorf("pods = %s, want %s", got, want)
		}
		must(t, os.Rename(filepath.Join(root, "away"), dir))
		r.until("it has recovered", func() bool { return len(r.errors()) == 0 })
		if got, want := r.reasons(), []string{ReasonUnavailable, ReasonRecovered}; !slices.Equal(got, want) {
			t.Errorf("events = %q, want %q", got, want)
		}
	})
}

// left is a node on which an agent has run the pod of dir/web.yaml, and a watch for
// the next agent.
func left(t *testing.T, dir string) (*rig, *watch) {
	t.Helper()
	must(t, os.MkdirAll(dir, 0o700))
	write(t, filepath.Join(dir, "web.yaml"), podYAML("web", "a:1"))
	r, before := newFile(t, dir)
	watch := openWatch()
	before.turn(watch, true)
	watch.close()
	if got, want := r.pods(), "web-node-1=a:1"; got != want {
		t.Fatalf("pods = %s, want %s", got, want)
	}
	r.Board = store.NewSources(map[node.Source]string{r.source: "somewhere"})
	watch = openWatch()
	t.Cleanup(watch.close)
	return r, watch
}

// goneForLong lets the time pass for which a file that is gone is waited for.
func (f *File) goneForLong(path string) {
	if file := f.files[path]; file != nil && !file.gone.IsZero() {
		file.gone = file.gone.Add(-vanished)
	}
}

func TestADirectoryThatBecomesAFileEndsItsPods(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pods")
	r, watch := left(t, dir)
	must(t, os.RemoveAll(dir))
	write(t, dir, podYAML("db", "b:1"))
	next := NewFile(FileConfig{Path: dir, Sink: r.Sink})
	next.turn(watch, true)
	next.goneForLong(filepath.Join(dir, "web.yaml"))
	next.turn(watch, false)
	if got, want := r.pods(), "db-node-1=b:1"; got != want || len(r.errors()) > 0 {
		t.Errorf("pods = %s, errors = %q; want %s, none", got, r.errors(), want)
	}
}

func TestPodsOfAnotherPlaceEnd(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "pods")
	for name, at := range map[string]string{
		"another directory": root, "one of its files": filepath.Join(dir, "db.yaml"), "a directory in it": filepath.Join(dir, "sub"),
	} {
		t.Run(name, func(t *testing.T) {
			r, watch := left(t, dir)
			write(t, filepath.Join(dir, "db.yaml"), podYAML("db", "b:1"))
			must(t, os.MkdirAll(filepath.Join(dir, "sub"), 0o700))
			NewFile(FileConfig{Path: at, Sink: r.Sink}).turn(watch, true)
			if got := r.pods(); strings.Contains(got, "web") {
				t.Errorf("pods = %s, want none of the former place", got)
			}
			must(t, os.Remove(filepath.Join(dir, "db.yaml")))
		})
	}
}

func TestSingleFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".static.yaml")
	write(t, path, podYAML("web", "a:1"))
	write(t, filepath.Join(filepath.Dir(path), "other.yaml"), podYAML("other", "a:1"))
	r, file := newFile(t, path)
	r.run(file.Run)
	r.untilPods("web-node-1=a:1")
	write(t, path, podYAML("web", "a:2"))
	r.untilPods("web-node-1=a:2")
	must(t, os.Remove(path))
	r.untilPods("")
}

func TestSingleFileRemovedBetweenReads(t *testing.T) {
	path := filepath.Join(t.TempDir(), "web.yaml")
	write(t, path, podYAML("web", "a:1"))
	r, before := newFile(t, path)
	watch := openWatch()
	defer watch.close()
	before.turn(watch, true)
	must(t, os.Remove(path))
	after := NewFile(FileConfig{Path: path, Sink: r.Sink})
	after.turn(watch, true)
	if got, want := r.pods(), "web-node-1=a:1"; got != want {
		t.Errorf("pods = %s, want %s for a moment", got, want)
	}
	after.goneForLong(path)
	after.turn(watch, false)
	if got := r.pods(); got != "" {
		t.Errorf("pods = %s, want none", got)
	}
}

func TestAHiddenFileCountsByItselfOnly(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, ".web.yaml")
	write(t, path, podYAML("web", "a:1"))
	r, before := newFile(t, path)
	watch := openWatch()
	defer watch.close()
	before.turn(watch, true)
	if got, want := r.pods(), "web-node-1=a:1"; got != want {
		t.Fatalf("pods = %s, want %s", got, want)
	}
	NewFile(FileConfig{Path: dir, Sink: r.Sink}).turn(watch, true)
	if got := r.pods(); got != "" {
		t.Errorf("pods = %s, want none of a hidden file", got)
	}
}
