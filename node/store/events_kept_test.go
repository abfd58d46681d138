package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nodal/node"
)

// reopened returns events that go on where others have ended. The clock goes on from the records of its journal.
func reopened(t *testing.T, disk *memory, records [][]byte) *Events {
	t.Helper()
	clock, err := OpenClock(disk, disk.all())
	if err != nil {
		t.Fatal(err)
	}
	r := NewEvents(clock)
	var kept KeptEvents
	for _, record := range records {
		if err := kept.Add(record); err != nil {
			t.Fatal(err)
		}
	}
	r.Restore(kept, time.Unix(5000, 0))
	return r
}

func encoded(t *testing.T, e node.Event) []byte {
	t.Helper()
	record, err := EncodeEvent(&e)
	if err != nil {
		t.Fatal(err)
	}
	return record
}

func mark(t *testing.T, compacted int64, whole bool) []byte {
	t.Helper()
	record, err := EncodeMark(compacted, whole)
	if err != nil {
		t.Fatal(err)
	}
	return record
}

// TestRestoredEventsAreThoseThatWereThere writes each event at once, as it was then, and compares the lists.
func TestRestoredEventsAreThoseThatWereThere(t *testing.T) {
	disk := newMemory()
	clock := openClock(t, disk)
	r := NewEvents(clock)
	var records [][]byte
	for i := range 3 * keptEvents {
		e := node.Event{Time: time.Unix(int64(1000+i), 0).UTC(), Reason: "Made", Key: key(fmt.Sprint("p", i%300)), Message: fmt.Sprint(i)}
		if i%3 == 0 {
			e.Warning, e.Message, e.Key = true, "x", key(fmt.Sprint("q", i%5)) // repeats
		}
		r.Add(e)
		latest := since(t, r, clock.Now()-1, everything)
		records = append(records, encoded(t, latest[0]))
	}
	want, _ := r.Kept()
	again := reopened(t, disk, append(records, mark(t, want.Compacted, true)))
	got, now := again.Kept()
	if fmt.Sprint(got.Events) != fmt.Sprint(want.Events) || got.Compacted != want.Compacted {
		t.Errorf("%d events are back, compacted to %d; want %d, %d, all the same", len(got.Events), got.Compacted, len(want.Events), want.Compacted)
	}
	if last := want.Events[len(want.Events)-1].Revision; now <= last || again.Began() != now {
		t.Errorf("the revision is %d, began at %d, want more than %d", now, again.Began(), last)
	}
}

func TestAWatchGoesOnInWholeEventsOnly(t *testing.T) {
	one, two := node.Event{Revision: 1, Reason: "A", Time: time.Unix(1000, 0)}, node.Event{Revision: 2, Reason: "B", Time: time.Unix(1001, 0)}
	for _, c := range []struct {
		name    string
		records [][]byte
		from    int64
		want    string // the reasons; empty if the watch has to list again
	}{
		{"all are there", [][]byte{encoded(t, one), encoded(t, two), mark(t, 0, true)}, 1, "B"},
		{"the process was killed", [][]byte{encoded(t, one), encoded(t, two)}, 1, ""},
		{"it was killed after one that ended in order", [][]byte{encoded(t, one), mark(t, 0, true), encoded(t, two)}, 1, ""},
		{"some were dropped", [][]byte{mark(t, 2, false), encoded(t, two), mark(t, 2, true)}, 1, ""},
		{"it has seen all but those that were dropped", [][]byte{mark(t, 1, false), encoded(t, two), mark(t, 1, true)}, 1, "B"},
		{"an agent to come has written more", [][]byte{encoded(t, one), mark(t, 0, true), []byte(`{"Version":99,"Batch":[]}`)}, 1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			disk := newMemory()
			clock := openClock(t, disk)
			for range 10 {
				clock.Next()
			}
			r := reopened(t, disk, c.records)
			found, _, err := r.Since(c.from, everything)
			got := ""
			for _, e := range found {
				got += e.Reason
			}
			if got != c.want || (err != nil) != (c.want == "") || err != nil && !errors.Is(err, node.ErrCompacted) {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
			if _, _, err := r.Since(r.Began(), everything); err != nil {
				t.Errorf("a watch from the start of the process: %v", err)
			}
		})
	}
}

func TestEventsWithoutTheirClockGetNewRevisions(t *testing.T) {
	var records [][]byte
	for _, revision := range []int64{1 << 30, 1<<30 + 1, 5} { // the clock was lost, and the process before this one began again
		records = append(records, encoded(t, node.Event{Revision: revision, Reason: "A", Message: fmt.Sprint(revision)}))
	}
	r := reopened(t, newMemory(), append(records, mark(t, 0, true)))
	last := int64(0)
	for _, e := range since(t, r, 0, everything) {
		if e.Revision <= last {
			t.Errorf("revision %d follows %d", e.Revision, last)
		}
		last = e.Revision
	}
	if last > r.Began() {
		t.Errorf("the last has revision %d, of this process, which began at %d", last, r.Began())
	}
}

func TestWhatHappenedWithoutAnAgentIsMissed(t *testing.T) {
	r := reopened(t, newMemory(), [][]byte{encoded(t, node.Event{Time: time.Unix(4000, 0)})})
	for at, want := range map[int64]bool{3999: false, 4000: false, 4001: true, 4999: true, 5000: false, 6000: false} {
		if got := r.Missed(time.Unix(at, 0)); got != want {
			t.Errorf("at %d: got %t, want %t", at, got, want)
		}
	}
	if first := reopened(t, newMemory(), nil); first.Missed(time.Unix(4500, 0)) {
		t.Error("an agent without one before it has missed something")
	}
}

// TestRecordsOfEventsStayReadable reads what an earlier agent has written. The files change only with the version.
func TestRecordsOfEventsStayReadable(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	full := node.Event{
		Revision: 7, Time: at.Add(time.Minute), First: at, Count: 3, Warning: true, Reason: "BackOff", Message: "waits 10s",
		Key: node.Key{Namespace: "default", Name: "web"}, UID: "u1", Container: "app", Took: time.Second,
	}
	for name, record := range map[string][]byte{
		"event": encoded(t, full), "event_of_the_node": encoded(t, node.Event{Revision: 8, Time: at, First: at, Count: 1, Reason: "Started"}),
		"mark": mark(t, 12, true),
	} {
		path := filepath.Join("testdata", "events", name+".json")
		if *update {
			if err := os.WriteFile(path, append(record, '\n'), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if string(record) != strings.TrimSpace(string(want)) {
			t.Errorf("%s: got %s, want %s", name, record, want)
		}
	}
	var kept KeptEvents
	for _, name := range []string{"event", "mark"} {
		record, err := os.ReadFile(filepath.Join("testdata", "events", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := kept.Add(record); err != nil {
			t.Fatal(err)
		}
	}
	if len(kept.Events) != 1 || kept.Events[0] != full || kept.Compacted != 12 || !kept.Whole {
		t.Errorf("got %+v, want %+v", kept, full)
	}
	if err := kept.Add([]byte(`{"Version":1,"Event":`)); err == nil || kept.Whole {
		t.Errorf("a damaged record: got %v, whole is %t", err, kept.Whole)
	}
}
