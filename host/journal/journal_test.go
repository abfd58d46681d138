package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"nodal/node"
	"nodal/node/store"
)

// state is the content of a journal: data by name.
type state map[string]string

// after returns the state that a commit makes of s.
func (s state) after(records []store.Record) state {
	next := maps.Clone(s)
	for _, r := range records {
		if r.Data == nil {
			delete(next, r.Name)
		} else {
			next[r.Name] = string(r.Data)
		}
	}
	return next
}

func put(name, data string) store.Record { return store.Record{Name: name, Data: []byte(data)} }
func gone(name string) store.Record      { return store.Record{Name: name} }

func openJournal(t *testing.T, dir string) *Journal {
	t.Helper()
	j, err := Open(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

func load(t *testing.T, j *Journal) (state, []Quarantined) {
	t.Helper()
	records, quarantined, err := j.Load()
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	got := state{}
	for _, r := range records {
		if r.Data == nil {
			t.Errorf("record %q was loaded as deleted", r.Name)
		}
		got[r.Name] = string(r.Data)
	}
	return got, quarantined
}

// reload returns what the next process finds.
func reload(t *testing.T, j *Journal) (state, []Quarantined) {
	t.Helper()
	if err := j.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	next := openJournal(t, j.dir)
	defer next.Close()
	return load(t, next)
}

func commit(t *testing.T, j *Journal, records ...store.Record) {
	t.Helper()
	if err := j.Commit(records...); err != nil {
		t.Fatalf("Commit: %v", err)
	}
}

func TestCommittedRecordsAreFoundByTheNextProcess(t *testing.T) {
	long := "pods/" + strings.Repeat("n", 63) + "_" + strings.Repeat("p", 253)
	tests := []struct {
		name    string
		commits [][]store.Record
		want    state
	}{
		{"nothing committed", nil, state{}},
		{"a commit of nothing", [][]store.Record{{}}, state{}},
		{"one record", [][]store.Record{{put("pods/a", "1")}}, state{"pods/a": "1"}},
		{"an empty record is not a deleted one", [][]store.Record{{put("pods/a", "")}}, state{"pods/a": ""}},
		{"the last of three generations", [][]store.Record{{put("a", "1")}, {put("a", "2")}, {put("a", "3")}}, state{"a": "3"}},
		{"a deletion", [][]store.Record{{put("a", "1")}, {put("a", "2")}, {gone("a")}}, state{}},
		{"a deletion of what never was", [][]store.Record{{gone("pods/a")}}, state{}},
		{"made again after its deletion", [][]store.Record{{put("a", "1")}, {gone("a")}, {put("a", "2")}}, state{"a": "2"}},
		{"several at once, in several directories",
			[][]store.Record{{put("pods/a", "1"), put("objects/b", "2"), put("epoch", "3")}},
			state{"pods/a": "1", "objects/b": "2", "epoch": "3"}},
		{"deletions and records at once",
			[][]store.Record{{put("a", "1"), put("b", "1")}, {gone("a"), put("b", "2"), put("c", "2"), gone("d/e")}},
			state{"b": "2", "c": "2"}},
		{"a record beside a directory of its name", [][]store.Record{{put("a", "1"), put("a/b", "2")}}, state{"a": "1", "a/b": "2"}},
		{"names that look like our files", [][]store.Record{{put("a", "1"), put("a.rec", "2"), put("a.rec.prev", "3"), put("a.1.tmp", "4")}},
			state{"a": "1", "a.rec": "2", "a.rec.prev": "3", "a.1.tmp": "4"}},
		{"names longer than a file's name may be", [][]store.Record{{put(long, "1"), put(long+"q", "2")}, {put(long, "3")}},
			state{long: "3", long + "q": "2"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			j := openJournal(t, t.TempDir())
			for _, records := range tt.commits {
				commit(t, j, records...)
			}
			got, quarantined := reload(t, j)
			if !maps.Equal(got, tt.want) || len(quarantined) != 0 {
				t.Errorf("got %v, %v, want %v", got, quarantined, tt.want)
			}
		})
	}
}

func TestNamesThatCannotBeAPathAreInvalid(t *testing.T) {
	names := []string{"", ".", "..", "/", "/a", "a/", "a//b", "a/../b", "../a", "./a", "a\x00b", "a.rec/b", "a/b.prev/c",
		"a.tmp/b", strings.Repeat("a/", maxName) + "a"}
	dir := t.TempDir()
	j := openJournal(t, filepath.Join(dir, "journal"))
	for _, name := range names {
		for _, records := range [][]store.Record{{put(name, "x")}, {gone(name)}, {put("sound", "x"), put(name, "x")}} {
			if err := j.Commit(records...); !errors.Is(err, node.ErrInvalid) {
				t.Errorf("commit of %q: got %v, want %v", name, err, node.ErrInvalid)
			}
		}
	}
	if err := j.Commit(put("a", "1"), gone("a")); !errors.Is(err, node.ErrInvalid) {
		t.Errorf("commit of a name twice: got %v, want %v", err, node.ErrInvalid)
	}
	if got, _ := reload(t, j); len(got) != 0 {
		t.Errorf("got %v, want nothing committed", got)
	}
	if outside, _ := os.ReadDir(dir); len(outside) != 1 {
		t.Errorf("got %v beside the journal, want nothing", outside)
	}
}

func TestALockedJournalNamesItsOwner(t *testing.T) {
	dir := t.TempDir()
	j := openJournal(t, dir)
	_, err := Open(dir, slog.New(slog.DiscardHandler))
	if err == nil {
		t.Fatal("a second Open succeeded")
	}
	for _, want := range []string{dir, fmt.Sprintf("in use by process %d", os.Getpid())} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %q, want it to name %q", err, want)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	openJournal(t, dir)
}

func TestAClosedJournalRefusesWork(t *testing.T) {
	j := openJournal(t, t.TempDir())
	for range 2 {
		if err := j.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	if err := j.Commit(put("a", "1")); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Commit: got %v, want %v", err, fs.ErrClosed)
	}
	if _, _, err := j.Load(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Load: got %v, want %v", err, fs.ErrClosed)
	}
}

func TestRecordsAreReadableByTheirOwnerOnly(t *testing.T) {
	j := openJournal(t, filepath.Join(t.TempDir(), "journal"))
	commit(t, j, put("pods/a", "1"))
	commit(t, j, put("pods/a", "2"), put("objects/b", "2"))
	err := filepath.WalkDir(j.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		want := fs.FileMode(fileMode)
		if d.IsDir() {
			want = dirMode
		}
		if err == nil && info.Mode().Perm() != want {
			t.Errorf("%s: got mode %o, want %o", path, info.Mode().Perm(), want)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestConcurrentCommitsAreEachWhole(t *testing.T) {
	j := openJournal(t, t.TempDir())
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			for n := range 20 {
				own := fmt.Sprintf("own/%d", w)
				value := fmt.Sprintf("%d-%d", w, n)
				records := []store.Record{put(own, value)}
				if n%2 == 1 { // the pair is written by all of them
					records = []store.Record{put("shared/left", value), put("shared/right", value), put(own, value)}
				}
				if err := j.Commit(records...); err != nil {
					t.Errorf("Commit: %v", err)
				}
				if err := j.Commit(put("shared/other", value), gone(fmt.Sprintf("own/%d", w+100))); err != nil {
					t.Errorf("Commit: %v", err)
				}
			}
		})
	}
	writers.Wait()
	got, quarantined := reload(t, j)
	if len(quarantined) != 0 {
		t.Errorf("quarantined: %v", quarantined)
	}
	if got["shared/left"] == "" || got["shared/left"] != got["shared/right"] {
		t.Errorf("the pair was not written together: %q and %q", got["shared/left"], got["shared/right"])
	}
	for w := range 8 {
		if name, want := fmt.Sprintf("own/%d", w), fmt.Sprintf("%d-19", w); got[name] != want {
			t.Errorf("%s: got %q, want %q", name, got[name], want)
		}
	}
}

func BenchmarkCommit(b *testing.B) {
	for _, size := range []int{500, 4 << 10, 64 << 10} {
		b.Run(fmt.Sprintf("one record of %d bytes", size), func(b *testing.B) {
			benchmark(b, 1, size)
		})
	}
	b.Run("ten records of 4096 bytes together", func(b *testing.B) { benchmark(b, 10, 4<<10) })
}

func benchmark(b *testing.B, count, size int) {
	j, err := Open(b.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	defer j.Close()
	var records []store.Record
	for i := range count {
		records = append(records, store.Record{Name: fmt.Sprintf("pods/default_web-%d", i), Data: make([]byte, size)})
	}
	for b.Loop() {
		if err := j.Commit(records...); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCommitSideBySide(b *testing.B) {
	j, err := Open(b.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	defer j.Close()
	b.SetParallelism(8)
	var mu sync.Mutex
	var workers int
	b.RunParallel(func(pb *testing.PB) {
		mu.Lock()
		workers++
		r := store.Record{Name: fmt.Sprintf("pods/default_web-%d", workers), Data: make([]byte, 4<<10)}
		mu.Unlock()
		for pb.Next() {
			if err := j.Commit(r); err != nil {
				b.Error(err)
			}
		}
	})
}
