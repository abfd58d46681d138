package replace_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"nodal/host/replace"
)

func TestFile(t *testing.T) {
	for _, c := range []struct {
		name   string
		before map[string]string
		mode   fs.FileMode
	}{
		{"a file that is not there", nil, 0o600},
		{"a file that is there", map[string]string{"key": "old"}, 0o644},
		{"half a file of an attempt that crashed", map[string]string{"key.new": "a longer text than the new one"}, 0o600},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range c.before {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			if err := replace.File(filepath.Join(dir, "key"), []byte("new"), c.mode); err != nil {
				t.Fatal(err)
			}
			want(t, dir, "key", "new")
			if info, err := os.Stat(filepath.Join(dir, "key")); err != nil || info.Mode() != c.mode {
				t.Errorf("got %v, %v, want mode %v", info, err, c.mode)
			}
		})
	}
}

func TestAFailureLeavesTheOldFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "key")
	if err := replace.File(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	full := errors.New("no space left")
	err := replace.From(path, io.MultiReader(strings.NewReader("ne"), iotest.ErrReader(full)), 0o600)
	if !errors.Is(err, full) || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v, want the cause and the file", err)
	}
	want(t, dir, "key", "old")
}

// want expects one file and nothing beside it.
func want(t *testing.T, dir, name, text string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != name {
		t.Errorf("the directory holds %v, %v, want %s alone", entries, err, name)
	}
	if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != text {
		t.Errorf("got %q, %v, want %q", got, err, text)
	}
}
