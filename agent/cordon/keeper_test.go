package cordon

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"nodal/node"
)

// world is a keeper with a clock of its own, and the events that it reports.
type world struct {
	t      *testing.T
	file   string
	now    time.Time
	events []string
}

func newWorld(t *testing.T) *world {
	return &world{t: t, file: filepath.Join(t.TempDir(), "cordon.json"), now: time.Unix(1000, 0).UTC()}
}

func (w *world) open() *Keeper {
	w.t.Helper()
	k, err := Open(w.file, func(e node.Event) { w.events = append(w.events, e.Reason) }, func() time.Time { return w.now })
	if err != nil {
		w.t.Fatal(err)
	}
	return k
}

func TestACordonLastsOverRestarts(t *testing.T) {
	w := newWorld(t)
	k := w.open()
	if k.State().Closed() {
		t.Fatal("a new node is cordoned")
	}
	changed := k.Changed()
	set, err := k.Set("a new disk")
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-changed:
	default:
		t.Error("no watcher hears of the cordon")
	}
	w.now = w.now.Add(time.Hour)
	k = w.open()
	if got := k.State(); got != set || got.Reason != "a new disk" || !got.Since.Equal(time.Unix(1000, 0)) {
		t.Errorf("the next agent has %+v, want %+v", got, set)
	}
	if again, err := k.Set("two new disks"); err != nil || !again.Since.Equal(set.Since) || again.Reason != "two new disks" {
		t.Errorf("set again: %+v, %v, want the time of the first", again, err)
	}
	if err := k.Lift(); err != nil {
		t.Fatal(err)
	}
	if err := k.Lift(); err != nil {
		t.Errorf("lifted twice: %v", err)
	}
	if w.open().State().Closed() {
		t.Error("the agent after the lift has a cordon")
	}
	if want := []string{node.NotSchedulable, node.Schedulable}; len(w.events) != 2 || w.events[0] != want[0] || w.events[1] != want[1] {
		t.Errorf("events %q, want %q", w.events, want)
	}
}

func TestADamagedRecordKeepsTheNodeClosed(t *testing.T) {
	for _, text := range []string{"", "{", "{}", `{"Since": "never"}`} {
		w := newWorld(t)
		if err := os.WriteFile(w.file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := w.open().State(); !got.Closed() || got.Reason == "" {
			t.Errorf("%q: got %+v, want a cordon with its reason", text, got)
		}
	}
}

func TestACordonThatCannotBeWrittenDoesNotHold(t *testing.T) {
	w := newWorld(t)
	w.file = filepath.Join(w.file, "no", "such", "directory")
	k := w.open()
	if _, err := k.Set("x"); err == nil || k.State().Closed() || len(w.events) > 0 {
		t.Errorf("got %v, state %+v, events %q; want an error, and the node open", err, k.State(), w.events)
	}
}
