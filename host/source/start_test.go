package source

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestRestartChangesNothing(t *testing.T) {
	dir := t.TempDir()
	r, watch := left(t, dir)
	revision := r.Intake.Store.Revision()
	next := NewFile(FileConfig{Path: dir, Sink: r.Sink})
	for range 2 { // first in motion, then read
		next.turn(watch, true)
		if got := r.Intake.Store.Revision(); got != revision {
			t.Errorf("revision = %d, want %d", got, revision)
		}
		age(t, filepath.Join(dir, "web.yaml"))
	}
}

func TestAFileThatGoesBeforeItIsReadTakesItsPodAlong(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "web.yaml")
	r, watch := left(t, dir)
	next := NewFile(FileConfig{Path: dir, Sink: r.Sink})
	next.settled = time.Hour
	if next.turn(watch, true) <= 0 {
		t.Fatal("a file that was just written is not waited for")
	}
	must(t, os.Remove(path))
	next.turn(watch, false)
	next.goneForLong(path)
	next.turn(watch, false)
	if got := r.pods(); got != "" {
		t.Errorf("pods = %s, want none: their file is gone", got)
	}
}

func TestAFileThatIsAwayAtTheStartDoesNotTouchItsPod(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "web.yaml")
	r, watch := left(t, dir)
	must(t, os.Remove(path))
	next := NewFile(FileConfig{Path: dir, Sink: r.Sink})
	if wait := next.turn(watch, true); wait <= 0 || wait > vanished {
		t.Errorf("the file is looked for after %s, want up to %s", wait, vanished)
	}
	if got, want := r.pods(), "web-node-1=a:1"; got != want || !r.ready() {
		t.Errorf("pods = %s, delivered: %t; want %s, delivered", got, r.ready(), want)
	}
	next.goneForLong(path)
	next.turn(watch, false)
	if got := r.pods(); got != "" {
		t.Errorf("pods = %s, want none: their file is gone", got)
	}
}

func TestAFileInMotionAtTheStartDoesNotTouchItsPod(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "web.yaml")
	r, watch := left(t, dir)
	write(t, path, podYAML("web", "a"))
	next := NewFile(FileConfig{Path: dir, Sink: r.Sink})
	next.settled = time.Hour
	if wait := next.turn(watch, true); wait <= 0 {
		t.Error("a file that was just written is not waited for")
	}
	if got, want := r.pods(), "web-node-1=a:1"; got != want || !r.ready() {
		t.Errorf("pods = %s, delivered: %t; want %s, delivered", got, r.ready(), want)
	}
	age(t, path)
	next.turn(watch, true)
	if got, want := r.pods(), "web-node-1=a"; got != want {
		t.Errorf("pods = %s, want %s", got, want)
	}
}
