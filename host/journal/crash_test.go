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
)

var errStopped = errors.New("stopped by the test")

// faultyDisk fails a window of the calls that it sees, and remembers what a
// power cut may leave of each directory.
type faultyDisk struct {
	osDisk
	from, to int   // calls that fail, from 1; to is exclusive
	cause    error // what they fail with
	torn     bool  // create leaves half a file, as a stopped process does

	calls  int
	failed []string
	// What each directory held since its last sync; a power cut keeps any one.
	held map[string][]map[string]string
}

func (d *faultyDisk) fails(op string) bool {
	d.calls++
	if d.calls < d.from || d.calls >= d.to {
		return false
	}
	d.failed = append(d.failed, op)
	return true
}

func (d *faultyDisk) do(op, path string, act func() error) error {
	if d.fails(op) {
		return &fs.PathError{Op: op, Path: path, Err: d.cause}
	}
	err := act()
	d.remember(filepath.Dir(path))
	return err
}

// remember adds what the directory holds now to what may be left of it.
func (d *faultyDisk) remember(dir string) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	now := map[string]string{}
	for _, f := range files {
		if f.Type().IsRegular() && f.Name() != "ballast" { // that is big, and has its own test
			raw, _ := os.ReadFile(filepath.Join(dir, f.Name()))
			now[f.Name()] = string(raw)
		}
	}
	d.held[dir] = append(d.held[dir], now)
}

func (d *faultyDisk) create(path string, data []byte) error {
	err := d.do("create", path, func() error {
		if filepath.Base(path) == "ballast" {
			data = data[:0]
		}
		return os.WriteFile(path, data, fileMode)
	})
	if err != nil && d.torn {
		_ = os.WriteFile(path, data[:len(data)/2], fileMode)
		d.remember(filepath.Dir(path))
	}
	return err
}

func (d *faultyDisk) mkdir(path string) error {
	return d.do("mkdir", path, func() error { return d.osDisk.mkdir(path) })
}

func (d *faultyDisk) link(from, to string) error {
	return d.do("link", to, func() error { return d.osDisk.link(from, to) })
}

func (d *faultyDisk) rename(from, to string) error {
	return d.do("rename", to, func() error { return d.osDisk.rename(from, to) })
}

func (d *faultyDisk) remove(path string) error {
	return d.do("remove", path, func() error { return d.osDisk.remove(path) })
}

func (d *faultyDisk) sync(dir string) error {
	if d.fails("sync") {
		return &fs.PathError{Op: "sync", Path: dir, Err: d.cause}
	}
	if _, err := os.Stat(dir); err != nil {
		return err
	}
	d.held[dir] = nil
	d.remember(dir)
	return nil
}

// cutPower writes what a power cut may leave to another directory.
func (d *faultyDisk) cutPower(t *testing.T, from, to string, random *rand.Rand) {
	t.Helper()
	for _, dir := range slices.Sorted(maps.Keys(d.held)) {
		place := filepath.Join(to, strings.TrimPrefix(dir, from))
		if err := os.MkdirAll(place, dirMode); err != nil {
			t.Fatal(err)
		}
		for name, data := range d.held[dir][random.IntN(len(d.held[dir]))] {
			if err := os.WriteFile(filepath.Join(place, name), []byte(data), fileMode); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// script is a course of commits in which every kind follows every other.
var script = [][]node.Record{
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
			// Only a failed sync leaves it open what is on the disk.
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
	j, err := open(dir, slog.New(slog.DiscardHandler), &faultyDisk{held: map[string][]map[string]string{}})
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
		{"two calls fail", 2, syscall.EIO, false},
		{"three calls fail", 3, syscall.EIO, false},
		{"seven calls fail", 7, syscall.EIO, false},
		{"the disk is full for one call", 1, syscall.ENOSPC, false},
		{"the disk is full for twelve calls", 12, syscall.ENOSPC, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for k := 1; ; k++ {
				d := &faultyDisk{from: k, to: k + tt.length, cause: tt.cause, torn: tt.torn, held: map[string][]map[string]string{}}
				if !cut(t, d, fmt.Sprintf("from call %d", k)) {
					break
				}
			}
		})
	}
}

// cut runs the script on a disk and checks what is left. It reports whether the
// disk came to fail.
func cut(t *testing.T, d *faultyDisk, name string) bool {
	t.Run(name, func(t *testing.T) {
		dir := t.TempDir()
		possible := run(t, dir, d)
		for seed := range uint64(4) {
			after := t.TempDir()
			d.cutPower(t, dir, after, rand.New(rand.NewPCG(uint64(d.from), seed)))
			checkState(t, after, possible)
		}
		checkState(t, dir, possible)
	})
	return d.calls >= d.from
}

func TestAFailedCommitLeavesNothingStaged(t *testing.T) {
	for k := 1; ; k++ {
		dir := t.TempDir()
		d := &faultyDisk{cause: syscall.ENOSPC, held: map[string][]map[string]string{}}
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

// checkRefused expects at most one error, for a full disk, and nothing left of it
// but a transaction that is taken all the same.
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
	d := &faultyDisk{cause: syscall.EIO, held: map[string][]map[string]string{}}
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
