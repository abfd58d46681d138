package store

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"nodal/node"
)

var update = flag.Bool("update", false, "write the golden records of this version anew")

// goldenDir is the directory of a version's golden records. Below it a record's path is its name.
func goldenDir(version int) string {
	return filepath.Join("testdata/records", fmt.Sprintf("v%d", version))
}

func golden(t *testing.T, version int) []Record {
	t.Helper()
	var records []Record
	dir := goldenDir(version)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, strings.TrimSuffix(path, ".json"))
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		records = append(records, Record{Name: name, Data: data})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return records
}

// newest returns this agent's records of a slot and of objects with every field.
func newest(t *testing.T) map[string][]byte {
	t.Helper()
	journal := newMemory()
	s := openStore(t, journal)
	if _, err := s.Transact(func(tx *Tx) error {
		slot := filledSlot(t)
		tx.Put(slot.Pod.Key(), slot)
		for _, object := range filledObjects(t) {
			tx.PutObject(object)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return journal.records
}

func TestEveryVersionsRecordsAreRestored(t *testing.T) {
	for version := range Version + 1 {
		t.Run(fmt.Sprintf("v%d", version), func(t *testing.T) {
			records := golden(t, version)
			journal := newMemory()
			s := openStore(t, journal)
			if problems := s.Restore(records); len(problems) > 0 {
				t.Fatalf("problems: %v", problems)
			}
			rewrite(t, s)
			for _, r := range records {
				if r.Name == clockRecord {
					continue
				}
				if lost := lost(t, r.Data, journal.records[r.Name]); len(lost) > 0 {
					t.Errorf("record %s forgets %q", r.Name, lost)
				}
			}
			if told := s.Surplus(); len(told) > 0 {
				t.Errorf("this agent does not know what it has written itself: %q", told)
			}
		})
	}
}

// rewrite has the store record all that it holds.
func rewrite(t *testing.T, s *Store) {
	t.Helper()
	if _, err := s.Transact(func(tx *Tx) error {
		for key, slot := range tx.All() {
			tx.Put(key, slot)
		}
		for _, object := range s.objects.all() {
			tx.PutObject(object)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// lost are the places of what one record says and another does not.
func lost(t *testing.T, before, after []byte) []string {
	t.Helper()
	var was, is any
	for data, into := range map[*any][]byte{&was: before, &is: after} {
		if err := json.Unmarshal(into, data); err != nil {
			t.Fatal(err)
		}
	}
	var paths []string
	var compare func(was, is any, path string)
	compare = func(was, is any, path string) {
		switch w := was.(type) {
		case map[string]any:
			i, _ := is.(map[string]any)
			for name, value := range w {
				compare(value, i[name], path+"."+name)
			}
		case []any:
			i, _ := is.([]any)
			for n, value := range w {
				if n >= len(i) {
					paths = append(paths, fmt.Sprintf("%s[%d]", path, n))
					continue
				}
				compare(value, i[n], fmt.Sprintf("%s[%d]", path, n))
			}
		default:
			if path != ".Version" && !reflect.DeepEqual(was, is) {
				paths = append(paths, path)
			}
		}
	}
	compare(was, is, "")
	slices.Sort(paths)
	return paths
}

func TestTheNewestGoldenRecordsHaveEveryField(t *testing.T) {
	for name, data := range newest(t) {
		if name == clockRecord {
			continue
		}
		var text bytes.Buffer
		if err := json.Indent(&text, data, "", "  "); err != nil {
			t.Fatal(err)
		}
		text.WriteByte('\n')
		path := filepath.Join(goldenDir(Version), name+".json")
		if *update {
			writeGolden(t, path, text.Bytes())
			continue
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, text.Bytes()) {
			t.Errorf("%s is not what this agent writes (%v).\nA field that is new: run go test ./node/store -update."+
				"\nA field that is gone or has another name: earlier agents wrote it, keep reading it.", path, err)
		}
	}
}

// writeGolden adds what is new. What was there stays: earlier agents have written it.
func writeGolden(t *testing.T, path string, text []byte) {
	t.Helper()
	if before, err := os.ReadFile(path); err == nil {
		if lost := lost(t, before, text); len(lost) > 0 {
			t.Fatalf("%s would lose %q: keep reading it, or raise Version", path, lost)
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestEveryRecordedFieldIsNamed(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var look func(of reflect.Type)
	look = func(of reflect.Type) {
		switch of.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array:
			look(of.Elem())
			return
		case reflect.Map:
			look(of.Key())
			look(of.Elem())
			return
		}
		if of.Kind() != reflect.Struct || !isOurs(of) || seen[of] {
			return
		}
		seen[of] = true
		for i := range of.NumField() {
			field := of.Field(i)
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			switch {
			case name == "-":
				continue
			case name == "" || !field.IsExported():
				t.Errorf("%s.%s has no name in the record: give it a json tag, and never change that", of, field.Name)
			}
			look(field.Type)
		}
	}
	look(reflect.TypeFor[node.Slot]())
	look(objectShape())
	if len(seen) < 15 {
		t.Errorf("saw %d types, want all below a slot", len(seen))
	}
}

func TestTheClockGoesOnFromEveryVersion(t *testing.T) {
	for version := range Version + 1 {
		clock, err := OpenClock(newMemory(), golden(t, version))
		if err != nil {
			t.Fatal(err)
		}
		if got := clock.Now(); got < clockBlock {
			t.Errorf("v%d: the clock begins at %d, before the revision that was recorded", version, got)
		}
	}
}
