package runtime

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"
)

// packed is a bundle of made-up programs.
func packed(t *testing.T, files map[string]string) (archive, index []byte) {
	t.Helper()
	var out bytes.Buffer
	compressor, err := zstd.NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Files []bundleFile `json:"files"`
	}
	w := tar.NewWriter(compressor)
	for _, path := range slices.Sorted(maps.Keys(files)) {
		content := files[path]
		err := w.WriteHeader(&tar.Header{Name: path, Mode: 0o755, Size: int64(len(content)), Typeflag: tar.TypeReg})
		if err == nil {
			_, err = w.Write([]byte(content))
		}
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256([]byte(content))
		list.Files = append(list.Files, bundleFile{Path: path, Size: int64(len(content)), SHA256: hex.EncodeToString(sum[:])})
	}
	if err := errors.Join(w.Close(), compressor.Close()); err != nil {
		t.Fatal(err)
	}
	index, err = json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), index
}

var programsOfTest = map[string]string{"bin/containerd": strings.Repeat("c", 100_000), "bin/runc": "runs", "cni/bridge": "joins"}

// unpacked lays a bundle down below a root directory.
func unpacked(t *testing.T, root string, files map[string]string) bundle {
	t.Helper()
	archive, index := packed(t, files)
	if err := Unpack(root, archive, index); err != nil {
		t.Fatal(err)
	}
	b, err := readBundle(filepath.Join(root, "runtime", "bundles"), archive, index)
	if err != nil {
		t.Fatal(err)
	}
	if bad := b.damaged(); len(bad) > 0 {
		t.Fatalf("damaged after unpacking: %v", names(bad))
	}
	return b
}

func TestWhatIsDamagedIsLaidDownAnewAndNothingElse(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"cut short":          func(path string) error { return os.Truncate(path, 3) },
		"gone":               os.Remove,
		"changed":            func(path string) error { return os.WriteFile(path, []byte("walk"), 0o755) },
		"no program":         func(path string) error { return os.Chmod(path, 0o644) },
		"another's file now": func(path string) error { return errors.Join(os.Remove(path), os.Symlink("/bin/sh", path)) },
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			b := unpacked(t, root, programsOfTest)
			if err := damage(filepath.Join(b.dir, "bin/runc")); err != nil {
				t.Fatal(err)
			}
			before, err := os.Stat(filepath.Join(b.dir, "bin/containerd"))
			if err != nil {
				t.Fatal(err)
			}
			repaired, err := b.ensure(t.Context(), nil)
			if err != nil || !slices.Equal(repaired, []string{"bin/runc"}) {
				t.Errorf("repaired %v, %v; want bin/runc", repaired, err)
			}
			if bad := b.damaged(); len(bad) > 0 {
				t.Errorf("still damaged: %v", names(bad))
			}
			if after, err := os.Stat(filepath.Join(b.dir, "bin/containerd")); err != nil || !os.SameFile(before, after) {
				t.Errorf("bin/containerd was written again (%v), and something may run from it", err)
			}
		})
	}
}

// A kill in between leaves files half written under other names, or missing.
func TestWhatAKillLeftIsFinished(t *testing.T) {
	root := t.TempDir()
	archive, index := packed(t, programsOfTest)
	b, err := readBundle(filepath.Join(root, "runtime", "bundles"), archive, index)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(
		os.MkdirAll(filepath.Join(b.dir, "bin"), 0o755),
		os.WriteFile(filepath.Join(b.dir, "bin/runc.new"), []byte("ru"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	if _, err := b.ensure(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if bad := b.damaged(); len(bad) > 0 {
		t.Errorf("damaged: %v", names(bad))
	}
}

func TestTwoMayUnpackAtOnce(t *testing.T) {
	root := t.TempDir()
	archive, index := packed(t, programsOfTest)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			// One may find its file renamed away by the other; nothing may end up damaged.
			_ = Unpack(root, archive, index)
		})
	}
	group.Wait()
	b, err := readBundle(filepath.Join(root, "runtime", "bundles"), archive, index)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.ensure(t.Context(), nil); err != nil {
		t.Errorf("the next start fails: %v", err)
	}
}

func TestAFullDiskIsToldAndNothingHalfStays(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("a disk of its own takes root")
	}
	root := t.TempDir()
	if err := unix.Mount("tmpfs", root, "tmpfs", 0, "size=64k"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(root, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	archive, index := packed(t, programsOfTest)
	err := Unpack(root, archive, index)
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("got %v, want that the disk is full", err)
	}
	if !strings.Contains(err.Error(), "bin/containerd") {
		t.Errorf("the error does not say what was unpacked: %v", err)
	}
	entries, err := os.ReadDir(filepath.Join(root, "runtime", "bundles"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) || len(entries) > 0 {
		t.Errorf("left on the full disk: %v (%v)", entries, err)
	}
}

func TestAnArchiveThatBreaksItsPromiseIsNotUsed(t *testing.T) {
	archive, index := packed(t, programsOfTest)
	other, _ := packed(t, map[string]string{"bin/containerd": "x", "bin/runc": "evil", "cni/bridge": "joins"})
	for name, c := range map[string]struct{ archive, index []byte }{
		"other content than the index says": {other, index},
		"cut short":                         {archive[:len(archive)/2], index},
		"no archive":                        {[]byte("hello"), index},
		"an index that leads outside":       {archive, []byte(`{"files":[{"path":"../../etc/passwd"}]}`)},
		"an index that is none":             {archive, []byte("hello")},
	} {
		t.Run(name, func(t *testing.T) {
			if err := Unpack(t.TempDir(), c.archive, c.index); err == nil {
				t.Error("got no error")
			}
		})
	}
}

// An upgrade brings a bundle of another digest beside the old one, which stays as
// long as something runs from it.
func TestAnOldBundleStaysWhileItRuns(t *testing.T) {
	root := t.TempDir()
	sleep, err := os.ReadFile("/bin/sleep")
	if err != nil {
		t.Fatal(err)
	}
	idle := unpacked(t, root, map[string]string{"bin/containerd": "oldest"})
	old := unpacked(t, root, map[string]string{"bin/containerd": string(sleep)})
	shim := startProgram(t, filepath.Join(old.dir, "bin/containerd"), "1000")
	present := unpacked(t, root, programsOfTest)
	wantDirs := func(when string, want ...bundle) {
		t.Helper()
		if err := present.removeOld(); err != nil {
			t.Fatal(err)
		}
		for _, b := range []bundle{idle, old, present} {
			_, err := os.Stat(b.dir)
			if wanted := slices.ContainsFunc(want, func(w bundle) bool { return w.dir == b.dir }); (err == nil) != wanted {
				t.Errorf("%s: %s is there: %t, want %t", when, filepath.Base(b.dir), err == nil, wanted)
			}
		}
	}
	wantDirs("while it runs", old, present)
	shim()
	wantDirs("afterwards", present)
}

// startProgram runs a program until the returned function is called.
func startProgram(t *testing.T, path string, args ...string) (stop func()) {
	t.Helper()
	p, err := os.StartProcess(path, append([]string{path}, args...), &os.ProcAttr{})
	if err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		if err := p.Kill(); err != nil {
			t.Error(err)
		}
		if _, err := p.Wait(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}
