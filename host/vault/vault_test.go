package vault

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"nodal/node/store"
)

// memory is a journal that keeps its records.
type memory struct{ records []store.Record }

func (m *memory) Commit(records ...store.Record) error         { m.records = records; return nil }
func (m *memory) CommitReserved(records ...store.Record) error { return m.Commit(records...) }

func open(t *testing.T, inner store.Journal, keyFile string) *Journal {
	t.Helper()
	j, err := New(inner, "secrets/", keyFile)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestSecretsAreSealedAndOpenedAgain(t *testing.T) {
	keyFile := filepath.Join(t.TempDir(), "key")
	disk := &memory{}
	given := []store.Record{{Name: "pods/a", Data: []byte("plain")}, {Name: "secrets/s", Data: []byte("hidden")}, {Name: "secrets/gone"}}
	if err := open(t, disk, keyFile).Commit(given...); err != nil {
		t.Fatal(err)
	}
	if got := disk.records[1].Data; bytes.Contains(got, []byte("hidden")) {
		t.Errorf("the secret lies open on the disk: %q", got)
	}
	if got := string(disk.records[0].Data); got != "plain" || disk.records[2].Data != nil {
		t.Errorf("got %q and %q, want the others as they were", got, disk.records[2].Data)
	}
	again := open(t, disk, keyFile) // the next start
	opened, problems := again.Open(disk.records)
	if len(problems) > 0 || len(opened) != 3 || string(opened[1].Data) != "hidden" {
		t.Errorf("got %q, problems %v, want what was committed", opened, problems)
	}
	if info, err := os.Stat(keyFile); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key is %v, %v; want only its owner to read it", info.Mode(), err)
	}
}

func TestOnlyRecordsThatDoNotOpenAreLeftOut(t *testing.T) {
	dir := t.TempDir()
	disk := &memory{}
	if err := open(t, disk, filepath.Join(dir, "key")).Commit(store.Record{Name: "secrets/s", Data: []byte("hidden")}); err != nil {
		t.Fatal(err)
	}
	sealed := disk.records[0]
	changed := store.Record{Name: sealed.Name, Data: bytes.Clone(sealed.Data)}
	changed.Data[len(changed.Data)-1] ^= 1
	for name, c := range map[string]struct {
		keyFile string
		record  store.Record
	}{
		"another key":           {"other", sealed},
		"another name":          {"key", store.Record{Name: "secrets/t", Data: sealed.Data}},
		"a changed byte":        {"key", changed},
		"nothing but a version": {"key", store.Record{Name: "secrets/s", Data: []byte{1}}},
		"an unknown version":    {"key", store.Record{Name: "secrets/s", Data: []byte{9, 9}}},
	} {
		t.Run(name, func(t *testing.T) {
			opened, problems := open(t, disk, filepath.Join(dir, c.keyFile)).Open([]store.Record{c.record, {Name: "pods/a", Data: []byte("x")}})
			if len(opened) != 1 || opened[0].Name != "pods/a" || len(problems) != 1 {
				t.Errorf("got %v, problems %v; want the pod alone and one problem", opened, problems)
			}
		})
	}
}

func TestAKeyOfTheWrongSizeIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New(&memory{}, "secrets/", file); err == nil {
		t.Error("got no error, want the key refused")
	}
}
