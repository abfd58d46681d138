package runtime

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/klauspost/compress/zstd"
)

// window is the longest distance of a match in the archive. A decoder keeps that much in memory.
const window = 128 << 20

// Unpack lays down the missing and damaged files of a bundle below a node's root directory. The program that
// Config.UnpackCommand names calls it. Without such a program Start unpacks by itself.
func Unpack(rootDir string, archive, index []byte) error {
	b, err := readBundle(layout{root: below(rootDir)}.bundles(), archive, index)
	if err != nil {
		return err
	}
	return b.repair()
}

// ensure makes the unpacked bundle whole and returns the files that it laid down. With a command another process
// unpacks, because the decoder's window would stay in this one's memory.
func (b bundle) ensure(ctx context.Context, command []string) (repaired []string, err error) {
	bad := b.damaged()
	if len(bad) == 0 {
		return nil, nil
	}
	if len(command) == 0 {
		err = b.layDown(bad)
	} else {
		err = runUnpack(ctx, command)
	}
	if err != nil {
		return nil, err
	}
	for path := range bad {
		// A file in its place had the right digest when it was written.
		if info, err := os.Stat(filepath.Join(b.dir, path)); err != nil || !b.files[path].fits(info) {
			return nil, fmt.Errorf("unpack the runtime: %s is not as the index says", path)
		}
	}
	return names(bad), nil
}

func names(files map[string]bool) []string { return slices.Sorted(maps.Keys(files)) }

func runUnpack(ctx context.Context, command []string) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	// The lock that keeps others from unpacking ends with the agent, so this process must, too.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var says bytes.Buffer
	cmd.Stderr = &says
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("unpack the runtime in another process: %w: %s", err, strings.TrimSpace(says.String()))
	}
	return nil
}

func (b bundle) repair() error { return b.layDown(b.damaged()) }

// layDown writes some files of the archive, each whole or not at all. If it fails on a new directory, it removes that:
// the disk may be full.
func (b bundle) layDown(want map[string]bool) (err error) {
	if len(want) == 0 {
		return nil
	}
	if len(want) == len(b.files) {
		defer func() {
			if err != nil {
				err = errors.Join(err, os.RemoveAll(b.dir))
			}
		}()
	}
	decoder, err := zstd.NewReader(bytes.NewReader(b.archive),
		zstd.WithDecoderMaxWindow(window), zstd.WithDecoderConcurrency(0))
	if err != nil {
		return fmt.Errorf("read the runtime's archive: %w", err)
	}
	defer decoder.Close()
	for archive := tar.NewReader(decoder); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the runtime's archive: %w", err)
		}
		if name := filepath.Clean(header.Name); want[name] {
			if err := b.write(b.files[name], archive); err != nil {
				return fmt.Errorf("unpack %s of the runtime: %w", name, err)
			}
		}
	}
}

// write puts a file into its place by renaming it. A program that runs from the damaged file goes on.
func (b bundle) write(f bundleFile, content io.Reader) error {
	path := filepath.Join(b.dir, f.Path)
	if err := os.MkdirAll(filepath.Dir(path), 0o711); err != nil {
		return err
	}
	next := path + ".new"
	out, err := os.OpenFile(next, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, f.Mode)
	if err != nil {
		return err
	}
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, sum), content)
	if got := hex.EncodeToString(sum.Sum(nil)); err == nil && got != f.SHA256 {
		err = fmt.Errorf("its digest is %s, and the index says %s", got, f.SHA256)
	}
	// The file may have been left by a kill with another mode, or made under a umask.
	err = errors.Join(err, out.Chmod(f.Mode), out.Close())
	if err == nil {
		err = os.Rename(next, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(next))
	}
	return nil
}

// removeOld removes the directories of other bundles from which nothing runs.
func (b bundle) removeOld() error {
	dirs, err := filepath.EvalSymlinks(filepath.Dir(b.dir)) // the kernel names no links
	if err != nil {
		return fmt.Errorf("look for old runtimes: %w", err)
	}
	entries, err := os.ReadDir(dirs)
	if err != nil {
		return fmt.Errorf("look for old runtimes: %w", err)
	}
	used := executables()
	var errs []error
	for _, e := range entries {
		dir := filepath.Join(dirs, e.Name())
		runs := slices.ContainsFunc(used, func(path string) bool { return inside(path, dir) })
		if e.Name() == filepath.Base(b.dir) || runs {
			continue
		}
		if err := os.RemoveAll(dir); err != nil {
			errs = append(errs, fmt.Errorf("remove an old runtime: %w", err))
		}
	}
	return errors.Join(errs...)
}
