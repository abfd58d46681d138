package auditfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

func newFile(t *testing.T, change func(*Config)) *File {
	t.Helper()
	cfg := Config{Path: filepath.Join(t.TempDir(), "audit", "audit.log"), MaxBytes: 1 << 20, Backups: 2}
	if change != nil {
		change(&cfg)
	}
	f := New(cfg)
	if err := f.Prepare(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.open != nil {
			f.close()
		}
	})
	return f
}

func (f *File) must(t *testing.T, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if err := f.Append([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
}

func text(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// all returns the lines, the newest first.
func (f *File) all(t *testing.T) (lines []string) {
	t.Helper()
	if _, err := f.Backward(func(line []byte) bool { lines = append(lines, string(line)); return true }); err != nil {
		t.Fatal(err)
	}
	return lines
}

func TestLinesAreAppendedToAPrivateFile(t *testing.T) {
	f := newFile(t, nil)
	f.must(t, "one", "two")
	if got := text(t, f.cfg.Path); got != "one\ntwo\n" {
		t.Errorf("got %q", got)
	}
	info, err := os.Stat(f.cfg.Path)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("the file has mode %s, %v", info.Mode(), err)
	}
	other := New(f.cfg) // the next agent
	other.must(t, "three")
	if got := other.all(t); !slices.Equal(got, []string{"three", "two", "one"}) {
		t.Errorf("after a restart: got %q", got)
	}
}

func TestAFileThatOthersMayReadIsClosedToThem(t *testing.T) {
	f := newFile(t, nil)
	if err := os.Chmod(f.cfg.Path, 0o644); err != nil {
		t.Fatal(err)
	}
	other := New(f.cfg)
	other.must(t, "one")
	if info, err := os.Stat(f.cfg.Path); err != nil || info.Mode() != 0o600 {
		t.Errorf("the file has mode %s, %v", info.Mode(), err)
	}
}

func TestRotationBoundsTheDisk(t *testing.T) {
	f := newFile(t, func(c *Config) { c.MaxBytes = 1000 })
	line := strings.Repeat("x", 90)
	for i := range 200 {
		f.must(t, fmt.Sprintf("%s%03d", line, i))
	}
	entries, err := os.ReadDir(filepath.Dir(f.cfg.Path))
	if err != nil || len(entries) != 4 {
		t.Fatalf("got %v, %v; want three files and the spare room", entries, err)
	}
	for _, e := range entries {
		var of unix.Stat_t
		path := filepath.Join(filepath.Dir(f.cfg.Path), e.Name())
		if strings.HasSuffix(path, ".spare") {
			continue
		}
		if err := unix.Stat(path, &of); err != nil || of.Size > 1000 {
			t.Errorf("%s has %d bytes, %v", e.Name(), of.Size, err)
		}
		if path != f.cfg.Path && of.Blocks*512 > 64<<10 {
			t.Errorf("%s still reserves space: %d blocks", e.Name(), of.Blocks)
		}
	}
	lines := f.all(t)
	for i, line := range lines {
		if want := fmt.Sprintf("%03d", 199-i); !strings.HasSuffix(line, want) {
			t.Fatalf("line %d from the end is %q, want %s", i, line, want)
		}
	}
	if len(lines) < 20 {
		t.Errorf("only %d lines are left", len(lines))
	}
}

// The owner of a node may set the file append-only, so that not even root rewrites it. Then it cannot be moved.
func TestARotationThatFailsLosesNothing(t *testing.T) {
	f := newFile(t, func(c *Config) { c.MaxBytes, c.Backups = 10, 3 })
	f.must(t, "11111111", "22222222", "33333333")
	before := f.all(t)
	setAppendOnly(t, f.cfg.Path, true)
	for range 5 {
		if err := f.Append([]byte("44444444")); !errors.Is(err, unix.EPERM) || strings.Count(err.Error(), f.cfg.Path) != 1 {
			t.Fatalf("got %v, want EPERM with the path once", err)
		}
	}
	if got := f.all(t); !slices.Equal(got, before) {
		t.Errorf("got %q, before it was %q", got, before)
	}
	setAppendOnly(t, f.cfg.Path, false)
	f.must(t, "44444444")
	if got := f.all(t); !slices.Equal(got, append([]string{"44444444"}, before...)) {
		t.Errorf("got %q", got)
	}
}

// setAppendOnly does what chattr +a and -a do.
func setAppendOnly(t *testing.T, path string, on bool) {
	t.Helper()
	const appendOnly = 0x20 // FS_APPEND_FL
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	flags, err := unix.IoctlGetInt(int(file.Fd()), unix.FS_IOC_GETFLAGS)
	if err == nil {
		flags &^= appendOnly
		if on {
			flags |= appendOnly
		}
		err = unix.IoctlSetPointerInt(int(file.Fd()), unix.FS_IOC_SETFLAGS, flags)
	}
	switch {
	case on && (errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOTTY) || errors.Is(err, unix.EOPNOTSUPP)):
		t.Skipf("this file system, or this user, sets no attributes: %v", err)
	case err != nil:
		t.Fatal(err)
	case on:
		t.Cleanup(func() { _ = exec.Command("chattr", "-R", "-a", filepath.Dir(path)).Run() }) // or nothing removes it
	}
}

func TestTheFileComesBackWithoutARestart(t *testing.T) {
	f := newFile(t, nil)
	dir := filepath.Dir(f.cfg.Path)
	for _, c := range []struct {
		name         string
		damage, mend func() error
		cause        error
	}{
		{"a removed directory", func() error { return os.RemoveAll(dir) }, func() error { return os.Mkdir(dir, 0o700) }, fs.ErrNotExist},
		{"a link in its place", func() error { return errors.Join(os.Remove(f.cfg.Path), os.Symlink("/dev/null", f.cfg.Path)) },
			func() error { return os.Remove(f.cfg.Path) }, unix.ELOOP},
		{"a pipe in its place", func() error { return errors.Join(os.Remove(f.cfg.Path), unix.Mkfifo(f.cfg.Path, 0o600)) },
			func() error { return os.Remove(f.cfg.Path) }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			f.must(t, "before")
			if err := c.damage(); err != nil {
				t.Fatal(err)
			}
			err := f.Append([]byte("meanwhile"))
			if err == nil || c.cause != nil && !errors.Is(err, c.cause) || strings.Count(err.Error(), f.cfg.Path) != 1 {
				t.Errorf("got %v, want %v with the path once", err, c.cause)
			}
			if err := c.mend(); err != nil {
				t.Fatal(err)
			}
			f.must(t, "after")
			if got := text(t, f.cfg.Path); got != "after\n" {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestAFileThatAnotherProgramHasMovedIsMadeAgain(t *testing.T) {
	f := newFile(t, nil)
	f.must(t, "one")
	if err := os.Rename(f.cfg.Path, f.cfg.Path+".old"); err != nil {
		t.Fatal(err)
	}
	f.must(t, "two")
	if got := text(t, f.cfg.Path); got != "two\n" {
		t.Errorf("got %q", got)
	}
}

func TestALineThatACrashHasCutEndsWithTheNext(t *testing.T) {
	f := newFile(t, nil)
	if err := os.WriteFile(f.cfg.Path, []byte("one\ntw"), 0o600); err != nil {
		t.Fatal(err)
	}
	other := New(f.cfg)
	other.must(t, "three", "four")
	if got := text(t, f.cfg.Path); got != "one\ntw\nthree\nfour\n" {
		t.Errorf("got %q", got)
	}
}

// smallDisk has the file on a file system of its own.
func smallDisk(t *testing.T, size string) *File {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); errors.Is(err, unix.EPERM) {
		t.Skip("only root can mount a small disk")
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return newFile(t, func(c *Config) { c.Path = filepath.Join(dir, "audit.log") })
}

func TestAFullDiskKeepsWholeLinesOnly(t *testing.T) {
	f := smallDisk(t, "64k")
	line := bytes.Repeat([]byte("x"), 999)
	written := 0
	var err error
	for ; err == nil && written < 1000; written++ {
		err = f.Append(line)
	}
	written--
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("after %d lines: %v", written, err)
	}
	if got := text(t, f.cfg.Path); len(got) != written*1000 || strings.Count(got, "\n") != written {
		t.Errorf("the file has %d bytes and %d lines, want %d lines of 1000", len(got), strings.Count(got, "\n"), written)
	}
	if err := os.Truncate(f.cfg.Path, 0); err != nil {
		t.Fatal(err)
	}
	f.must(t, "after")
}

func TestAFullDiskTakesTheLinesThatSpaceWasReservedFor(t *testing.T) {
	f := smallDisk(t, "1m")
	f.must(t, "first")
	filler, err := os.Create(filepath.Join(filepath.Dir(f.cfg.Path), "filler"))
	for err == nil {
		_, err = filler.Write(make([]byte, 4096))
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	if err := filler.Close(); err != nil {
		t.Fatal(err)
	}
	line := strings.Repeat("x", 400)
	for range 300 {
		f.must(t, line)
	}
	for range 1000 {
		if err = f.Append([]byte(line)); err != nil {
			break
		}
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Errorf("the disk takes lines without end: %v", err)
	}
}

func TestWritersTakeTurns(t *testing.T) {
	f := newFile(t, func(c *Config) { c.MaxBytes = 4000 })
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			for i := range 50 {
				if err := f.Append([]byte(fmt.Sprintf("writer %d line %d %s", w, i, strings.Repeat("y", 20)))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	for _, line := range f.all(t) {
		var w, i int
		var rest string
		if _, err := fmt.Sscanf(line, "writer %d line %d %s", &w, &i, &rest); err != nil || len(rest) != 20 {
			t.Errorf("the line %q is not whole", line)
		}
	}
}
