package usage

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const full = 64 << 10

// write makes a file of so many bytes that take room.
func write(t *testing.T, path string, size int) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Repeat("x", size)), 0o600); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestFilesTakeRoom(t *testing.T) {
	outside := t.TempDir()
	write(t, filepath.Join(outside, "big"), 10*full)
	for _, c := range []struct {
		name string
		fill func(t *testing.T, dir string)
		want Use // besides the directories' own blocks
	}{
		{"nothing", func(*testing.T, string) {}, Use{0, 1}},
		{"a file", func(t *testing.T, dir string) { write(t, dir+"/a", full) }, Use{full, 2}},
		{"files in directories", func(t *testing.T, dir string) {
			write(t, dir+"/a/b/c", full)
			write(t, dir+"/a/d", full)
		}, Use{2 * full, 5}},
		{"a file with two names", func(t *testing.T, dir string) {
			write(t, dir+"/a", full)
			must(t, os.Link(dir+"/a", dir+"/b"))
		}, Use{full, 2}},
		{"a link to what lies elsewhere", func(t *testing.T, dir string) {
			must(t, os.Symlink(outside, dir+"/a"))
		}, Use{0, 2}},
		{"a file that is a hole", func(t *testing.T, dir string) {
			write(t, dir+"/a", 0)
			must(t, os.Truncate(dir+"/a", 1<<30))
		}, Use{0, 2}},
		{"more names than are read at once", func(t *testing.T, dir string) {
			for i := range batch + 1 {
				must(t, os.Mkdir(filepath.Join(dir, strings.Repeat("n", i%200+1)+string(rune('a'+i/200))), 0o755))
			}
		}, Use{0, batch + 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			c.fill(t, dir)
			got, err := Measure(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			got.Bytes -= directories(t, dir)
			if got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// directories is the room that they take themselves, which file systems differ in.
func directories(t *testing.T, dir string) (bytes int64) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		var stat unix.Stat_t
		if err == nil && d.IsDir() {
			err = unix.Lstat(path, &stat)
		}
		bytes += stat.Blocks * 512
		return err
	}))
	return bytes
}

func TestAMissingDirectoryTakesNothing(t *testing.T) {
	got, err := Measure(t.Context(), filepath.Join(t.TempDir(), "none"))
	if err != nil || got != (Use{}) {
		t.Errorf("got %+v, %v, want nothing", got, err)
	}
}

func TestALinkIsNotMeasured(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Symlink(t.TempDir(), dir+"/link"))
	if got, err := Measure(t.Context(), dir+"/link"); err == nil {
		t.Errorf("got %+v, want an error", got)
	}
}

func TestMeasuringEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Measure(ctx, t.TempDir()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want it cancelled", err)
	}
}

// TestNestingHasAnEnd checks that endless nesting is reported, and opens no more files than a
// process may.
func TestNestingHasAnEnd(t *testing.T) {
	top := t.TempDir()
	fd, err := unix.Open(top, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	must(t, err)
	for range deepest + 1 {
		must(t, unix.Mkdirat(fd, "d", 0o755))
		next, err := unix.Openat(fd, "d", unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		must(t, err)
		unix.Close(fd)
		fd = next
	}
	unix.Close(fd)
	if _, err := Measure(t.Context(), top); err == nil || !strings.Contains(err.Error(), "nested") {
		t.Errorf("got %v, want it told of", err)
	}
}

func TestMountedFileSystemsDoNotCount(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root mounts")
	}
	dir := t.TempDir()
	must(t, os.Mkdir(dir+"/at", 0o755))
	must(t, unix.Mount("tmpfs", dir+"/at", "tmpfs", 0, "size=1m"))
	t.Cleanup(func() { must(t, unix.Unmount(dir+"/at", unix.MNT_DETACH)) })
	write(t, dir+"/at/a", full)
	got, err := Measure(t.Context(), dir)
	if err != nil || got.Inodes != 1 || got.Bytes >= full {
		t.Errorf("got %+v, %v, want the directory alone", got, err)
	}
}
