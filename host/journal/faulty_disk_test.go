package journal

import (
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

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

func newFaultyDisk(cause error) *faultyDisk {
	return &faultyDisk{cause: cause, held: map[string][]map[string]string{}}
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
	dir := filepath.Dir(path)
	if len(d.held[dir]) == 0 {
		d.remember(dir)
	}
	err := act()
	d.remember(dir)
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
		switch {
		case f.IsDir():
			now[f.Name()+"/"] = ""
		case f.Name() != "ballast" && f.Name() != "lock" && !isSpare(f.Name()): // not what a power cut is about
			raw, _ := os.ReadFile(filepath.Join(dir, f.Name()))
			now[f.Name()] = string(raw)
		}
	}
	d.held[dir] = append(d.held[dir], now)
}

// isSpare: no commit depends on that a spare is made, so a test saves the calls and the bytes.
func isSpare(path string) bool { return strings.HasPrefix(filepath.Base(path), sparePrefix) }

func (d *faultyDisk) create(path string, data []byte) error {
	if isSpare(path) {
		return errors.Join(os.WriteFile(path, nil, fileMode), os.Truncate(path, spareSize))
	}
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

func (d *faultyDisk) overwrite(path string, data []byte) error {
	err := d.do("overwrite", path, func() error { return os.WriteFile(path, data, fileMode) })
	if err != nil && d.torn {
		_ = os.WriteFile(path, append(slices.Clone(data[:len(data)/2]), make([]byte, spareSize-len(data)/2)...), fileMode)
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
	if isSpare(path) {
		return d.osDisk.remove(path)
	}
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
	kept := map[string]bool{from: true}
	for _, dir := range slices.Sorted(maps.Keys(d.held)) { // parents first
		if !kept[dir] {
			continue
		}
		place := filepath.Join(to, strings.TrimPrefix(dir, from))
		for name, data := range d.held[dir][random.IntN(len(d.held[dir]))] {
			var err error
			if sub, isDir := strings.CutSuffix(name, "/"); isDir {
				kept[filepath.Join(dir, sub)] = true
				err = os.Mkdir(filepath.Join(place, sub), dirMode)
			} else {
				err = os.WriteFile(filepath.Join(place, name), []byte(data), fileMode)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}
