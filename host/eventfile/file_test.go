package eventfile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nodal/node"
	"nodal/node/store"
)

func event(revision int) node.Event {
	at := time.Unix(int64(revision), 0).UTC()
	return node.Event{
		Revision: int64(revision), Time: at, First: at, Count: 1, Reason: "Started", Message: fmt.Sprint("attempt ", revision),
		Key: node.Key{Namespace: "default", Name: "web"}, UID: "u1", Container: "main", Took: time.Second, Warning: revision%2 == 0,
	}
}

func load(t *testing.T, path string) (*File, store.KeptEvents) {
	t.Helper()
	f := New(path)
	t.Cleanup(f.Close)
	kept, err := f.Load()
	if err != nil {
		t.Fatal(err)
	}
	return f, kept
}

func revisions(events []node.Event) string {
	var all []string
	for _, e := range events {
		all = append(all, fmt.Sprint(e.Revision))
	}
	return strings.Join(all, " ")
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestEventsOutliveAnAgentThatWasKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history", "events")
	f, kept := load(t, path)
	if len(kept.Events) > 0 || !f.Full() {
		t.Fatalf("got %+v from no file, full is %t", kept, f.Full())
	}
	must(t, f.Replace(store.KeptEvents{Events: []node.Event{event(1), event(2)}, Compacted: 1}))
	must(t, f.Append([]node.Event{event(3)}))
	f, kept = load(t, path) // the one before was not closed
	if revisions(kept.Events) != "1 2 3" || kept.Events[2] != event(3) || kept.Compacted != 1 || kept.Whole {
		t.Fatalf("got %+v, want the three, without the promise that they are all", kept)
	}
	must(t, f.Append([]node.Event{event(4)}))
	must(t, f.Mark(2, true))
	f, kept = load(t, path)
	if revisions(kept.Events) != "1 2 3 4" || kept.Compacted != 2 || !kept.Whole {
		t.Fatalf("got %+v, want all four, and that they are all", kept)
	}
	must(t, f.Append([]node.Event{event(5)}))
	if _, kept = load(t, path); revisions(kept.Events) != "1 2 3 4 5" || kept.Whole {
		t.Fatalf("got %+v: the mark is about the events before it", kept)
	}
}

// TestACutAnywhereCostsTheLastEventsOnly cuts the file at every byte, as a crash may, and goes on there.
func TestACutAnywhereCostsTheLastEventsOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events")
	f, _ := load(t, path)
	must(t, f.Replace(store.KeptEvents{}))
	var ends []int64
	for n := range 4 {
		must(t, f.Append([]node.Event{event(n + 1)}))
		ends = append(ends, f.size)
	}
	must(t, f.Mark(0, true))
	text, err := os.ReadFile(path)
	must(t, err)
	for cut := range len(text) {
		must(t, os.WriteFile(path, text[:cut], 0o600))
		whole := 0
		var want []string
		for whole < len(ends) && ends[whole] <= int64(cut) {
			whole++
			want = append(want, fmt.Sprint(whole))
		}
		f, kept := load(t, path)
		if got := revisions(kept.Events); got != strings.Join(want, " ") || kept.Whole {
			t.Fatalf("cut at %d of %d: got %q (whole: %t), want %q", cut, len(text), got, kept.Whole, want)
		}
		must(t, f.Append([]node.Event{event(9)}))
		if _, kept := load(t, path); revisions(kept.Events) != strings.Join(append(want, "9"), " ") {
			t.Fatalf("cut at %d: after another event got %q", cut, revisions(kept.Events))
		}
	}
}

func TestAFileThatHasGrownIsFull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events")
	f, _ := load(t, path)
	must(t, f.Replace(store.KeptEvents{Events: []node.Event{event(1)}}))
	for n := 2; !f.Full(); n++ {
		must(t, f.Append([]node.Event{event(n)}))
	}
	if f.size < growth || f.size > growth+4096 {
		t.Errorf("it is full at %d bytes, want %d", f.size, growth)
	}
	must(t, f.Replace(store.KeptEvents{Events: []node.Event{event(7)}}))
	if info, err := os.Stat(path); err != nil || info.Size() > 4096 || info.Mode().Perm() != 0o600 || f.Full() {
		t.Errorf("got %v, %v after it was written again", info, err)
	}
}

func TestEventsThatAreTooLargeTogetherLoseTheOldest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events")
	f, _ := load(t, path)
	var all []node.Event
	for n := range 10 {
		e := event(n + 1)
		e.Message = strings.Repeat("x", 700<<10)
		all = append(all, e)
	}
	must(t, f.Replace(store.KeptEvents{Events: all}))
	_, kept := load(t, path)
	if revisions(kept.Events) != "6 7 8 9 10" || kept.Compacted != 5 {
		t.Errorf("got %s, compacted to %d, want the latest that fit", revisions(kept.Events), kept.Compacted)
	}
}

func TestAWriteThatFailsLeavesTheFileAsItWas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events")
	f, _ := load(t, path)
	must(t, f.Replace(store.KeptEvents{Events: []node.Event{event(1)}}))
	_ = f.file.Close()
	if err := f.Append([]node.Event{event(2)}); err == nil || !f.Full() {
		t.Errorf("got %v, full is %t, want an error, and that the next write replaces the file", err, f.Full())
	}
	if _, kept := load(t, path); revisions(kept.Events) != "1" {
		t.Errorf("got %s, want what was there before", revisions(kept.Events))
	}
}
