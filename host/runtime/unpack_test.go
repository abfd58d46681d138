package runtime

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"
)

func contents() map[string][]byte {
	return map[string][]byte{
		"bin/containerd": bytes.Repeat([]byte("containerd"), 20_000),
		"bin/runc":       bytes.Repeat([]byte("runc"), 20_000),
		"cni/bridge":     []byte("bridge"),
	}
}

// pack makes an archive and its index.
func pack(t *testing.T, files map[string][]byte) (archive, index []byte) {
	t.Helper()
	var packed bytes.Buffer
	zip, err := zstd.NewWriter(&packed)
	if err != nil {
		t.Fatal(err)
	}
	out := tar.NewWriter(zip)
	var list struct {
		Files []bundleFile `json:"files"`
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		data := files[name]
		sum := sha256.Sum256(data)
		list.Files = append(list.Files, bundleFile{Path: name, Size: int64(len(data)), SHA256: hex.EncodeToString(sum[:]), Mode: 0o755})
		err := out.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(data)), Typeflag: tar.TypeReg})
		_, err2 := out.Write(data)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
	}
	index, err = json.Marshal(list)
	if err := errors.Join(err, out.Close(), zip.Close()); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes(), index
}

func testBundle(t *testing.T, dirs string) bundle {
	t.Helper()
	archive, index := pack(t, contents())
	b, err := readBundle(dirs, archive, index)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func wantWhole(t *testing.T, b bundle) {
	t.Helper()
	for name, want := range contents() {
		got, err := os.ReadFile(filepath.Join(b.dir, name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what was packed (%v)", name, err)
		}
		if info, err := os.Stat(filepath.Join(b.dir, name)); err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("%s has mode %v (%v)", name, info.Mode(), err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(b.dir, "*/*.new")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestDamagedFilesAreUnpackedAgain(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(dir string) error
		want   []string
	}{
		{"nothing was unpacked", os.RemoveAll, []string{"bin/containerd", "bin/runc", "cni/bridge"}},
		{"all is whole", func(string) error { return nil }, nil},
		{"one is missing", func(dir string) error { return os.Remove(dir + "/cni/bridge") }, []string{"cni/bridge"}},
		{"one is truncated", func(dir string) error { return os.Truncate(dir+"/bin/runc", 7) }, []string{"bin/runc"}},
		{"one is corrupted", func(dir string) error {
			f, err := os.OpenFile(dir+"/bin/containerd", os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteAt([]byte("X"), 77_777)
			return errors.Join(err, f.Close())
		}, []string{"bin/containerd"}},
		{"one cannot be run", func(dir string) error { return os.Chmod(dir+"/bin/runc", 0o644) }, []string{"bin/runc"}},
		{"a kill left half a file", func(dir string) error {
			return errors.Join(os.Remove(dir+"/bin/runc"), os.WriteFile(dir+"/bin/runc.new", []byte("ru"), 0o600))
		}, []string{"bin/runc"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := testBundle(t, t.TempDir())
			if _, err := b.ensure(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			if err := c.damage(b.dir); err != nil {
				t.Fatal(err)
			}
			got, err := b.ensure(t.Context(), nil)
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("laid down %v (%v), want %v", got, err, c.want)
			}
			wantWhole(t, b)
		})
	}
}

func TestFilesThatTheUnpackingProcessLeftDamagedAreReported(t *testing.T) {
	b := testBundle(t, t.TempDir())
	if _, err := b.ensure(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(b.dir, "bin/runc"), 7); err != nil {
		t.Fatal(err)
	}
	if _, err := b.ensure(t.Context(), []string{"true"}); err == nil || !strings.Contains(err.Error(), "bin/runc") {
		t.Errorf("got error %v, want the damaged file's name", err)
	}
}

func TestRepairLeavesProcessesOfTheOldFile(t *testing.T) {
	b := testBundle(t, t.TempDir())
	if _, err := b.ensure(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(b.dir, "bin/runc")
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 3); err != nil {
		t.Fatal(err)
	}
	if _, err := b.ensure(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if after, err := os.Stat(path); err != nil || os.SameFile(before, after) {
		t.Errorf("the file was written over (%v)", err)
	}
}

func TestUnpackingSideBySideEndsWhole(t *testing.T) {
	root := t.TempDir()
	archive, index := pack(t, contents())
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			// The lock keeps agents apart; a helper whose agent was killed has none.
			_ = Unpack(root, archive, index)
		})
	}
	group.Wait()
	b := testBundle(t, filepath.Join(root, "runtime", "bundles"))
	if _, err := b.ensure(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	wantWhole(t, b)
}

func TestArchiveThatIsNotTheIndexedOneIsRefused(t *testing.T) {
	archive, _ := pack(t, map[string][]byte{"bin/runc": []byte("another")})
	_, index := pack(t, contents())
	b, err := readBundle(t.TempDir(), archive, index)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.ensure(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "digest") {
		t.Errorf("got error %v, want that the digest differs", err)
	}
	if _, err := os.Stat(b.dir); err == nil {
		t.Error("the directory of what failed is still there")
	}
}

func TestIndexThatLeavesTheBundleIsRefused(t *testing.T) {
	if _, err := readBundle("/nowhere", nil, []byte(`{"files":[{"path":"../../etc/passwd"}]}`)); err == nil {
		t.Error("took a path outside of the bundle")
	}
}

func TestFullDiskIsAnErrorAndLeavesNothing(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to mount a small disk")
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=128k"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	b := testBundle(t, dir)
	_, err := b.ensure(t.Context(), nil)
	if !errors.Is(err, unix.ENOSPC) {
		t.Errorf("got error %v, want that the disk is full", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left on the full disk: %v", left)
	}
}

func TestOldBundlesStayWhileSomethingRunsFromThem(t *testing.T) {
	dirs := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(t.TempDir(), dirs); err != nil {
		t.Fatal(err)
	}
	b := testBundle(t, dirs)
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"unused", "used"} {
		if err := os.MkdirAll(filepath.Join(dirs, name, "bin"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dirs, name, "bin/shim"), self, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.ensure(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	shim := startFake(t, filepath.Join(dirs, "used/bin/shim"))
	if err := b.removeOld(); err != nil {
		t.Fatal(err)
	}
	if got, want := listed(t, dirs), []string{filepath.Base(b.dir), "used"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	shim.end()
	if err := b.removeOld(); err != nil {
		t.Fatal(err)
	}
	if got, want := listed(t, dirs), []string{filepath.Base(b.dir)}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func listed(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, e := range entries {
		found = append(found, e.Name())
	}
	return found
}
