package journal

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"nodal/node/store"
)

// greedyDisk takes each byte that gets free, as a container does that writes without end.
type greedyDisk struct {
	osDisk
	t      *testing.T
	filler string // none: it leaves the disk alone
}

func (d *greedyDisk) remove(path string) error {
	err := d.osDisk.remove(path)
	d.fill()
	return err
}

func (d *greedyDisk) overwrite(path string, data []byte) error {
	err := d.osDisk.overwrite(path, data)
	d.fill()
	return err
}

func (d *greedyDisk) fill() {
	if d.filler != "" {
		fillMore(d.t, d.filler)
	}
}

func TestDeletionsGoOnWhileAnotherTakesAllThatGetsFree(t *testing.T) {
	small := smallDisk(t, "size=2m")
	d := &greedyDisk{t: t}
	j, err := open(filepath.Join(small, "journal"), slog.New(slog.DiscardHandler), d)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	want := state{}
	for i := range 6 {
		commit(t, j, put(fmt.Sprint("pods/", i), "runs"))
		want[fmt.Sprint("pods/", i)] = "ending"
	}
	d.filler = fillUp(t, small)
	for i := range 3 {
		if err := j.CommitReserved(put(fmt.Sprint("pods/", i), "ending")); err != nil {
			t.Fatalf("pod %d: %v", i, err)
		}
	}
	if err := j.CommitReserved(put("pods/3", "ending"), put("pods/4", "ending"), put("pods/5", "ending")); err != nil {
		t.Fatalf("several at once: %v", err)
	}
	checkNoSpace(t, j.Commit(put("pods/0", "runs again")), j.dir)
	checkNothingStaged(t, j.dir)
	d.filler = ""
	if got, quarantined := reload(t, j); !maps.Equal(got, want) || len(quarantined) != 0 {
		t.Errorf("got %v, %v, want %v", got, quarantined, want)
	}
}

func TestSparesAreMadeAgainOnceThereIsRoom(t *testing.T) {
	small := smallDisk(t, "size=2m")
	j := openJournal(t, filepath.Join(small, "journal"))
	commit(t, j, put("pods/a", "1"))
	filler := fillUp(t, small)
	if err := j.CommitReserved(put("pods/a", "ending")); err != nil {
		t.Fatal(err)
	}
	if j.spares.have(spareCount) {
		t.Fatal("CommitReserved found space elsewhere: this test shows nothing")
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	commit(t, j, gone("pods/a"))
	if !j.spares.have(spareCount) {
		t.Error("the spares are not made again")
	}
}

// A power cut may bring the old name of a file back that has become a record.
func TestTheOtherNameOfARecordIsNoSpare(t *testing.T) {
	dir := t.TempDir()
	j := openJournal(t, dir)
	commit(t, j, put("pods/a", "1"))
	if err := errors.Join(os.Remove(j.spares.file(3)), os.Link(j.file("pods/a"), j.spares.file(3))); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	next := openJournal(t, dir)
	for range spareCount {
		if _, err := next.spares.create(filepath.Join(dir, "over"), []byte("another")); err != nil {
			t.Fatal(err)
		}
	}
	if got, quarantined := reload(t, next); !maps.Equal(got, state{"pods/a": "1"}) || len(quarantined) != 0 {
		t.Errorf("got %v, %v, want the record as it was", got, quarantined)
	}
}

// fullDisk has no room for new files; each other call of it may fail too.
type fullDisk struct {
	*faultyDisk
	full bool
}

func (d *fullDisk) create(path string, data []byte) error {
	if d.full {
		return &os.PathError{Op: "create", Path: path, Err: syscall.ENOSPC}
	}
	return d.faultyDisk.create(path, data)
}

func TestARecordOverASpareIsWholeOrNotThere(t *testing.T) {
	for _, torn := range []bool{false, true} {
		for k := 1; ; k++ {
			if calls := failOverSpares(t, k, torn); calls < k {
				break
			}
			if t.Failed() {
				t.Fatalf("failed from call %d, torn: %v", k, torn)
			}
		}
	}
}

// failOverSpares commits on a full disk, which fails from a call on, and returns how many calls that took.
func failOverSpares(t *testing.T, k int, torn bool) (calls int) {
	t.Helper()
	dir := makeJournalDir(t, t.TempDir(), "journal")
	d := &fullDisk{faultyDisk: newFaultyDisk(errStopped)}
	j, err := open(dir, slog.New(slog.DiscardHandler), d)
	if err != nil {
		t.Fatal(err)
	}
	commit(t, j, put("pods/a", "1"), put("pods/b", "1"))
	begun := d.calls
	d.full, d.torn, d.from, d.to = true, torn, begun+k, 1<<30
	possible := []state{{"pods/a": "1", "pods/b": "1"}}
	for _, records := range [][]store.Record{{put("pods/a", "2")}, {put("pods/a", "3"), put("pods/b", "3")}} {
		d.failed = nil
		before := possible[len(possible)-1]
		if err := j.CommitReserved(records...); err == nil {
			possible = nil
		}
		possible = append(possible, before.after(records))
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	checkState(t, dir, possible)
	return d.calls - begun
}
