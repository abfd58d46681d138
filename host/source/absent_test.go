package source

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
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
		must(t, os.Mkdir(dir, 0o700))
		write(t, filepath.Join(dir, "web.yaml"), podYAML("web", "a:1"))
		r, before := newFile(t, dir)
		watch := openWatch()
		defer watch.close()
		before.turn(watch, true)
		must(t, os.RemoveAll(dir))
		after := NewFile(FileConfig{Path: dir, Sink: r.Sink})
		after.turn(watch, true)
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

func TestSingleFileThatWentWhileNobodyLooked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "web.yaml")
	write(t, path, podYAML("web", "a:1"))
	r, before := newFile(t, path)
	watch := openWatch()
	defer watch.close()
	before.turn(watch, true)
	must(t, os.Remove(path))
	NewFile(FileConfig{Path: path, Sink: r.Sink}).turn(watch, true)
	if got := r.pods(); got != "" {
		t.Errorf("pods = %s, want none", got)
	}
}
