package store

import (
	"errors"
	"testing"

	"nodal/node"
)

func openClock(t *testing.T, journal *memory) *Clock {
	t.Helper()
	clock, err := OpenClock(journal, journal.all())
	if err != nil {
		t.Fatal(err)
	}
	return clock
}

func TestRevisionsGrowOverRestarts(t *testing.T) {
	journal := newMemory()
	last := int64(-1)
	for range 3 {
		clock := openClock(t, journal)
		for range 5 {
			if got := clock.Next(); got <= last {
				t.Fatalf("revision = %d after %d", got, last)
			} else {
				last = got
			}
		}
		if got := clock.Now(); got != last {
			t.Errorf("Now() = %d, want %d", got, last)
		}
	}
}

func TestRevisionsGrowOverARestartAfterAWholeBlock(t *testing.T) {
	journal := newMemory()
	clock := openClock(t, journal)
	for range clockBlock + 1 {
		clock.Next()
	}
	if got := openClock(t, journal).Now(); got < clock.Now() {
		t.Errorf("a restart goes on at %d, want %d or more", got, clock.Now())
	}
}

func TestClockAsksAgainWhenTheDiskRefuses(t *testing.T) {
	journal := newMemory()
	clock := openClock(t, journal)
	journal.failAll = node.ErrNoSpace
	for range clockBlock/2 + 10 {
		clock.Next()
	}
	journal.failAll = nil
	clock.Next()
	if got := openClock(t, journal).Now(); got < clockBlock*3/2 {
		t.Errorf("a restart goes on at %d, want two blocks", got)
	}
}

func TestClockDoesNotOpenWhatItCannotKeep(t *testing.T) {
	full := newMemory()
	full.failAll = node.ErrNoSpace
	if _, err := OpenClock(full, nil); !errors.Is(err, node.ErrNoSpace) {
		t.Errorf("on a full disk: %v, want %v", err, node.ErrNoSpace)
	}
	if _, err := OpenClock(newMemory(), []Record{{Name: clockRecord, Data: []byte("x")}}); err == nil {
		t.Error("a record that does not decode opened a clock")
	}
}
