package journal

import (
	"bytes"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nodal/node/store"
)

// damage changes the file of a record, or removes it with change nil.
func damage(t *testing.T, path string, change func([]byte) []byte) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if change == nil {
		err = os.Remove(path)
	} else {
		err = os.WriteFile(path, change(raw), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func flipLast(raw []byte) []byte { raw[len(raw)-1] ^= 1; return raw }

func TestADamagedRecordCostsOnlyItself(t *testing.T) {
	cut := func(raw []byte) []byte { return raw[:len(raw)/2] }
	empty := func([]byte) []byte { return nil }
	other := func([]byte) []byte { return encode("pods/other", []byte("2")) }
	newer := func(raw []byte) []byte { return bytes.Replace(raw, []byte(" 1 "), []byte(" 2 "), 1) }
	tests := []struct {
		name     string
		current  func([]byte) []byte
		previous func([]byte) []byte
		want     string // of the damaged record, or empty
		reason   string
	}{
		{"a flipped bit: the generation before it", flipLast, bytes.Clone, "1", "checksum"},
		{"cut in half: the generation before it", cut, bytes.Clone, "1", "header"},
		{"empty: the generation before it", empty, bytes.Clone, "1", "not a record"},
		{"another record: the generation before it", other, bytes.Clone, "1", `it is the record "pods/other"`},
		{"a newer format: the generation before it", newer, bytes.Clone, "1", `format version "2"`},
		{"no generation before it: nothing", flipLast, nil, "", "there is none"},
		{"both generations damaged: nothing", flipLast, cut, "", "previous generation"},
		{"only the generation before it damaged: no difference", bytes.Clone, flipLast, "2", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			j := openJournal(t, t.TempDir())
			commit(t, j, put("pods/web", "1"), put("pods/fine", "1"))
			commit(t, j, put("pods/web", "2"))
			file := j.file("pods/web")
			damage(t, file, tt.current)
			damage(t, file+previousSuffix, tt.previous)
			damaged, _ := os.ReadFile(file)

			want := state{"pods/fine": "1"}
			if tt.want != "" {
				want["pods/web"] = tt.want
			}
			got, quarantined := reload(t, j)
			if !maps.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
			checkQuarantined(t, quarantined, Quarantined{Name: "pods/web", Reason: tt.reason, Recovered: tt.want == "1"}, damaged)

			again, quarantined := load(t, openJournal(t, j.dir))
			if !maps.Equal(again, want) || len(quarantined) != 0 {
				t.Errorf("the start after: got %v, %v, want %v and nothing more to report", again, quarantined, want)
			}
		})
	}
}

// checkQuarantined expects one report with the damaged bytes kept, or none if want has no
// reason.
func checkQuarantined(t *testing.T, got []Quarantined, want Quarantined, bytesKept []byte) {
	t.Helper()
	if want.Reason == "" {
		if len(got) != 0 {
			t.Errorf("got %+v, want nothing quarantined", got)
		}
		return
	}
	if len(got) != 1 {
		t.Fatalf("got %+v, want one file quarantined", got)
	}
	if got[0].Name != want.Name || got[0].Recovered != want.Recovered || !strings.Contains(got[0].Reason, want.Reason) {
		t.Errorf("got %+v, want %+v", got[0], want)
	}
	if !strings.Contains(got[0].File, "/quarantine/") {
		t.Errorf("got %s, want it in quarantine", got[0].File)
	}
	if kept, err := os.ReadFile(got[0].File); err != nil || !bytes.Equal(kept, bytesKept) {
		t.Errorf("in quarantine: got %q, %v, want %q", kept, err, bytesKept)
	}
}

func TestQuarantineKeepsEveryDamagedGeneration(t *testing.T) {
	j := openJournal(t, t.TempDir())
	seen := map[string]bool{}
	for range 3 {
		commit(t, j, put("a", "1"))
		damage(t, j.file("a"), flipLast)
		_, quarantined := load(t, j)
		for _, q := range quarantined {
			seen[q.File] = true
		}
	}
	if len(seen) != 3 {
		t.Errorf("got %v, want three files", seen)
	}
}

func TestADamagedTransactionNeverCommitted(t *testing.T) {
	for name, change := range map[string]func([]byte) []byte{
		"a flipped bit":       flipLast,
		"empty":               func([]byte) []byte { return nil },
		"cut short":           func(raw []byte) []byte { return raw[:len(raw)-1] },
		"not a transaction":   func([]byte) []byte { return encode("pods/a", []byte("[]")) },
		"not a list":          func([]byte) []byte { return encode(transactionName, []byte("{")) },
		"a name that escapes": func([]byte) []byte { return encode(transactionName, []byte(`[{"name":"../lock","gone":true}]`)) },
	} {
		t.Run(name, func(t *testing.T) {
			j := openJournal(t, t.TempDir())
			commit(t, j, put("a", "1"), put("b", "1"))
			want := state{"a": "1", "b": "1"}
			records := leaveTransaction(t, j)
			damage(t, j.transactionFile(records), change)
			damaged, _ := os.ReadFile(j.transactionFile(records))

			got, quarantined := reload(t, j)
			if !maps.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
			if len(quarantined) != 1 {
				t.Fatalf("got %+v, want one file quarantined", quarantined)
			}
			if kept, err := os.ReadFile(quarantined[0].File); err != nil || !bytes.Equal(kept, damaged) {
				t.Errorf("in quarantine: got %q, %v, want %q", kept, err, damaged)
			}
			checkNothingStaged(t, j.dir)
		})
	}
}

// leaveTransaction leaves a transaction at its commit point, as a crash does.
func leaveTransaction(t *testing.T, j *Journal) *transaction {
	t.Helper()
	x := &transaction{id: 9, entries: []entry{{Name: "a"}, {Name: "b", Gone: true}, {Name: "c"}}}
	if err := j.decide(x, []store.Record{put("a", "2"), gone("b"), put("c", "2")}, j.disk.create); err != nil {
		t.Fatal(err)
	}
	return x
}

func TestALeftTransactionIsFinished(t *testing.T) {
	j := openJournal(t, t.TempDir())
	commit(t, j, put("a", "1"), put("b", "1"))
	leaveTransaction(t, j)
	got, quarantined := reload(t, j)
	if want := (state{"a": "2", "c": "2"}); !maps.Equal(got, want) || len(quarantined) != 0 {
		t.Errorf("got %v, %v, want %v", got, quarantined, want)
	}
	checkNothingStaged(t, j.dir)
}

func TestOpenSweepsTheRemainsOfACrash(t *testing.T) {
	j := openJournal(t, t.TempDir())
	commit(t, j, put("pods/a", "1"))
	commit(t, j, put("pods/a", "2"))
	stray := []string{staged(j.file("pods/a"), 77), staged(j.file("pods/b"), 78), filepath.Join(j.transactions(), "79.txn.tmp")}
	for _, path := range stray {
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, quarantined := reload(t, j); !maps.Equal(got, state{"pods/a": "2"}) || len(quarantined) != 0 {
		t.Errorf("got %v, %v", got, quarantined)
	}
	checkNothingStaged(t, j.dir)
}

func TestARecordRemovedByHandStaysRemoved(t *testing.T) {
	j := openJournal(t, t.TempDir())
	commit(t, j, put("a", "1"))
	commit(t, j, put("a", "2"))
	damage(t, j.file("a"), nil)
	got, quarantined := reload(t, j)
	if len(got) != 0 || len(quarantined) != 1 || quarantined[0].Name != "a" || quarantined[0].Recovered {
		t.Errorf("got %v, %+v, want nothing but the previous generation put aside", got, quarantined)
	}
}

// checkNothingStaged expects no file of an unfinished commit.
func checkNothingStaged(t *testing.T, dir string) {
	t.Helper()
	left, err := leftovers(dir)
	if err != nil || len(left) != 0 {
		t.Errorf("got %v, %v left behind, want nothing", left, err)
	}
}

func TestOpenNamesTheDirectoryItCannotUse(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(file, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v, want an error that names %s", err, file)
	}
}
