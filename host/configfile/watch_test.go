package configfile

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"nodal/host/watch"
)

// watched watches files until the test ends, and returns a function that waits for a change, after the first call.
func watched(t *testing.T, f Files) (hear func(what string)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	heard, ended := make(chan struct{}, 100), make(chan struct{})
	go func() {
		defer close(ended)
		f.Watch(ctx, func() { heard <- struct{}{} }, slog.New(slog.DiscardHandler))
	}()
	t.Cleanup(func() { cancel(); <-ended })
	hear = func(what string) {
		t.Helper()
		select {
		case <-heard:
		case <-time.After(watch.Floor / 2): // the look now and then does not help
			t.Fatalf("not heard: %s", what)
		}
	}
	hear("the first reading")
	return hear
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func do(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestEachWayToChangeAFileIsHeard(t *testing.T) {
	dir := t.TempDir()
	file, drops := filepath.Join(dir, "kubelet.yaml"), filepath.Join(dir, "drops")
	put(t, file, "a: 1")
	put(t, filepath.Join(drops, "10.conf"), "b: 1")
	hear := watched(t, Files{Paths: []string{file}, Dir: drops, Pattern: "*.conf"})

	put(t, file, "a: 2")
	hear("a file that is written in place")
	put(t, filepath.Join(dir, "new"), "a: 3")
	do(t, os.Rename(filepath.Join(dir, "new"), file))
	hear("a file that another is renamed over")
	put(t, filepath.Join(drops, "20.conf"), "c: 1")
	hear("another drop-in")
	do(t, os.Remove(filepath.Join(drops, "20.conf")))
	hear("a drop-in that is removed")
	do(t, os.Rename(drops, drops+".old"))
	hear("a directory of drop-ins that is renamed")
	put(t, filepath.Join(drops, "30.conf"), "d: 1")
	hear("another directory in its place")
	put(t, filepath.Join(drops, "30.conf"), "d: 2")
	hear("a drop-in there that is written")
	do(t, os.Remove(file))
	hear("a file that is removed")
	put(t, file, "a: 4")
	hear("a file that comes back")
}

// Kubernetes' volumes exchange a symbolic link to the directory of all files.
func TestAnExchangedLinkIsHeard(t *testing.T) {
	dir := t.TempDir()
	volume, entry := filepath.Join(dir, "volume"), filepath.Join(dir, "etc", "kubelet.yaml")
	put(t, filepath.Join(volume, "..1", "kubelet.yaml"), "a: 1")
	do(t, os.Symlink("..1", filepath.Join(volume, "..data")))
	do(t, os.Symlink(filepath.Join("..data", "kubelet.yaml"), filepath.Join(volume, "kubelet.yaml")))
	do(t, os.Mkdir(filepath.Dir(entry), 0o755))
	do(t, os.Symlink(filepath.Join("..", "volume", "kubelet.yaml"), entry))
	hear := watched(t, Files{Paths: []string{entry}})
	for _, next := range []string{"..2", "..3"} {
		put(t, filepath.Join(volume, next, "kubelet.yaml"), "a: "+next)
		do(t, os.Symlink(next, filepath.Join(volume, "..tmp")))
		do(t, os.Rename(filepath.Join(volume, "..tmp"), filepath.Join(volume, "..data")))
		hear("the link to " + next)
	}
	put(t, filepath.Join(dir, "elsewhere"), "a: 9")
	do(t, os.Symlink(filepath.Join(dir, "elsewhere"), entry+".new"))
	do(t, os.Rename(entry+".new", entry))
	hear("a link to another place")
	put(t, filepath.Join(dir, "elsewhere"), "a: 10")
	hear("the file there")
}

func TestAFileThatIsBeingWrittenIsHeardOnceItIsWhole(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubelet.yaml")
	put(t, file, "a: 1\n")
	parts := 3
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var heard []string
	Files{Paths: []string{file}, rest: func(ctx context.Context) bool {
		if parts--; parts >= 0 { // the writer goes on in each pause
			text, err := os.ReadFile(file)
			do(t, err)
			put(t, file, string(text)+"b: 1\n")
		}
		return ctx.Err() == nil
	}}.Watch(ctx, func() {
		text, err := os.ReadFile(file)
		do(t, err)
		heard = append(heard, string(text))
		cancel()
	}, slog.New(slog.DiscardHandler))
	if want := "a: 1\nb: 1\nb: 1\nb: 1\n"; len(heard) != 1 || heard[0] != want {
		t.Errorf("heard %q, want the whole file once: %q", heard, want)
	}
}

func TestFilesThatStayTheSameAreNoChange(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubelet.yaml")
	put(t, file, "a: 1")
	f := Files{Paths: []string{file}}
	before := f.read()
	put(t, filepath.Join(filepath.Dir(file), "other"), "b")
	do(t, os.Chtimes(file, time.Now(), time.Now()))
	if f.read() != before {
		t.Error("the time of a file counts as a change")
	}
	for _, differs := range []func(){
		func() { put(t, file, "a: 2") },
		func() { do(t, os.Remove(file)) },
		func() { do(t, os.Mkdir(file, 0o755)) },
	} {
		last := f.read()
		if differs(); f.read() == last {
			t.Error("another file counts as the same")
		}
	}
}
