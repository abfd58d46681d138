package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"nodal/node"
	"nodal/node/store"
)

var errStopped = errors.New("stopped by the test")

// script is a course of commits in which every kind follows every other.
var script = [][]store.Record{
	{put("pods/a", "1")},
	{put("pods/a", "2"), put("objects/b", "2"), put("pods/c", "2")},
	{put("pods/a", "3")},
	{gone("pods/a"), put("objects/b", "4"), gone("pods/c")},
	{put("pods/c", "5")},
	{put("pods/a", "6"), gone("objects/b")},
	{put("objects/b", "7")},
	{gone("pods/a"), gone("objects/b")},
	{put("pods/a", "9"), put("pods/c", "9")},
	{gone("pods/a")},
	{put("pods/a", "11")},
}

// run plays the script and returns every state that the disk may be in after it.
func run(t *testing.T, dir string, d *faultyDisk) []state {
	t.Helper()
	possible := []state{{}}
	j, err := open(dir, slog.New(slog.DiscardHandler), d)
	if err != nil {
		return possible
	}
	defer j.Close()
	for _, records := range script {
		d.failed = nil
		err := j.Commit(records...)
		var next []state
		for _, s := range possible {
			if err != nil {
				next = append(next, s)
			}
			// Only after a failed sync is it open what the disk holds.
			if err == nil || slices.Contains(d.failed, "sync") {
				next = append(next, s.after(records))
			}
		}
		possible = next
	}
	return possible
}

func checkState(t *testing.T, dir string, possible []state) {
	t.Helper()
	j, err := open(dir, slog.New(slog.DiscardHandler), newFaultyDisk(nil))
	if err != nil {
		t.Fatalf("open after it: %v", err)
	}
	defer j.Close()
	got, quarantined := load(t, j)
	if !slices.ContainsFunc(possible, func(s state) bool { return maps.Equal(s, got) }) {
		t.Errorf("got %v, want one of %v", got, possible)
	}
	if len(quarantined) != 0 {
		t.Errorf("quarantined: %+v, want nothing damaged", quarantined)
	}
	checkNothingStaged(t, dir)
}

// leftovers lists the files of unfinished commits.
func leftovers(dir string) (left []string, err error) {
	err = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if strings.Contains(path, "/quarantine/") {
			return err
		}
		if ext := filepath.Ext(path); ext == stagedSuffix || ext == transactionSuffix {
			left = append(left, path)
		}
		return err
	})
	return left, err
}

// The script runs once for each call of the file system that it makes and each
// length of the failure, which starts at that call. However it ends, the next
// start must find each commit whole or not at all, and each that was
// acknowledged; after a power cut too, which loses what was not synced.
func TestEveryCutLeavesEachCommitWholeOrNotAtAll(t *testing.T) {
	const forever = 1 << 30
	tests := []struct {
		name   string
		length int
		cause  error
		torn   bool
	}{
		{"the process stops", forever, errStopped, true},
		{"one call fails", 1, syscall.EIO, false},
		{"four calls fail", 4, syscall.EIO, false},
		{"the disk is full for nine calls", 9, syscall.ENOSPC, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			base := t.TempDir()
			for k := 1; ; k++ {
				d := newFaultyDisk(tt.cause)
				d.from, d.to, d.torn = k, k+tt.length, tt.torn
				cut(t, base, d)
				if t.Failed() {
					t.Fatalf("failed from call %d", k)
				}
				if d.calls < k {
					return
				}
			}
		})
	}
}

// cut runs the script on a disk and checks the result.
func cut(t *testing.T, base string, d *faultyDisk) {
	t.Helper()
	root, err := os.MkdirTemp(base, "")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(root)
	dir := makeJournalDir(t, root, "stopped")
	possible := run(t, dir, d)
	for seed := range uint64(2) {
		after := makeJournalDir(t, root, fmt.Sprint("power", seed))
		d.cutPower(t, dir, after, rand.New(rand.NewPCG(uint64(d.from), seed)))
		checkState(t, after, possible)
	}
	checkState(t, dir, possible)
}

// makeJournalDir makes a directory that has its ballast, to save each run the
// time to write it.
func makeJournalDir(t *testing.T, root, name string) string {
	t.Helper()
	dir := filepath.Join(root, name)
	ballast := filepath.Join(dir, "ballast")
	err := errors.Join(os.Mkdir(dir, dirMode), os.WriteFile(ballast, nil, fileMode), os.Truncate(ballast, ballastSize))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestAFailedCommitLeavesNothingStaged(t *testing.T) {
	for k := 1; ; k++ {
		dir := t.TempDir()
		d := newFaultyDisk(syscall.ENOSPC)
		j, err := open(dir, slog.New(slog.DiscardHandler), d)
		if err != nil {
			t.Fatal(err)
		}
		commit(t, j, put("pods/a", "1"))
		d.from = d.calls + k
		d.to = d.from + 1
		single := j.Commit(put("pods/a", "2"))
		several := j.Commit(put("pods/a", "3"), put("pods/b", "3"), gone("pods/c"))
		checkRefused(t, j, single, several)
		j.Close()
		if d.calls < d.from {
			return
		}
	}
}

// checkRefused expects every error to be for a full disk, and no file left but
// those of a transaction that is pending.
func checkRefused(t *testing.T, j *Journal, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil && (!errors.Is(err, node.ErrNoSpace) || !strings.Contains(err.Error(), j.dir)) {
			t.Errorf("got %v, want %v in %s", err, node.ErrNoSpace, j.dir)
		}
	}
	if len(j.pending.byName) == 0 {
		checkNothingStaged(t, j.dir)
	}
}

func TestAPendingTransactionIsSettledBeforeItsRecordsChange(t *testing.T) {
	d := newFaultyDisk(syscall.EIO)
	dir := t.TempDir()
	j, err := open(dir, slog.New(slog.DiscardHandler), d)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	commit(t, j, put("a", "1"), put("b", "1"))

	// Past the commit point: two staged, their directory, the list, its name, its directory.
	d.from, d.to = d.calls+7, 1<<30
	if err := j.Commit(put("a", "2"), gone("b")); err != nil {
		t.Fatalf("past the commit point: got %v, want success", err)
	}
	if err := j.Commit(put("b", "3")); !errors.Is(err, syscall.EIO) {
		t.Errorf("commit over a pending transaction: got %v, want %v", err, syscall.EIO)
	}
	d.from, d.to = 0, 0
	commit(t, j, put("b", "4"))
	if len(j.pending.byName) != 0 {
		t.Errorf("pending: got %v, want nothing", j.pending.byName)
	}
	if got, _ := reload(t, j); !maps.Equal(got, state{"a": "2", "b": "4"}) {
		t.Errorf("got %v, want a: 2, b: 4", got)
	}
}
