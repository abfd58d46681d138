package journal

import (
	"errors"
	"log/slog"
	"strings"
	"syscall"
	"testing"
)

func TestReadReturnsTheLastCommit(t *testing.T) {
	j := openJournal(t, t.TempDir())
	commit(t, j, put("objects/a", "1"), put("objects/b", "1"))
	commit(t, j, put("objects/a", "2"))
	commit(t, j, gone("objects/b"))
	got, err := j.Read("objects/a", "objects/b", "objects/never")
	if err != nil || len(got) != 1 || got[0].Name != "objects/a" || string(got[0].Data) != "2" {
		t.Errorf("got %v, %v; want the last of objects/a alone", got, err)
	}
}

func TestReadSettlesATransactionFirst(t *testing.T) {
	d := newFaultyDisk(syscall.EIO)
	j, err := open(t.TempDir(), slog.New(slog.DiscardHandler), d)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	commit(t, j, put("a", "1"), put("b", "1"))
	d.from, d.to = d.calls+8, 1<<30 // past the commit point: two staged, their directory, the list, its name, its directory
	if err := j.Commit(put("a", "2"), put("b", "2")); err != nil {
		t.Fatalf("past the commit point: got %v, want success", err)
	}
	if got, err := j.Read("b"); !errors.Is(err, syscall.EIO) {
		t.Errorf("while the disk fails: got %v, %v; want its error, not the record before", got, err)
	}
	d.from, d.to = 0, 0
	if got, err := j.Read("b"); err != nil || len(got) != 1 || string(got[0].Data) != "2" {
		t.Errorf("got %v, %v; want what was committed", got, err)
	}
}

func TestReadReportsADamagedRecordByName(t *testing.T) {
	j := openJournal(t, t.TempDir())
	commit(t, j, put("pods/web", "1"), put("pods/fine", "1"))
	damage(t, j.file("pods/web"), flipLast)
	if got, err := j.Read("pods/fine", "pods/web"); err == nil || !strings.Contains(err.Error(), "record pods/web") {
		t.Errorf("got %v, %v; want an error that names the record", got, err)
	}
	j.Close()
	if _, err := j.Read("pods/fine"); err == nil {
		t.Error("a closed journal was read")
	}
}

func TestAJournalHasRecordsBelowAPrefix(t *testing.T) {
	j := openJournal(t, t.TempDir())
	commit(t, j, put("pods/web", "1"), put("objects/Secret/a_b", "1"))
	for prefix, want := range map[string]bool{"objects/Secret/": true, "objects/ConfigMap/": false, "pods/": true} {
		if got := Has(j.dir, prefix); got != want {
			t.Errorf("below %s: got %t, want %t", prefix, got, want)
		}
	}
	commit(t, j, gone("objects/Secret/a_b"))
	if Has(j.dir, "objects/Secret/") {
		t.Error("a record that is gone was found")
	}
}
