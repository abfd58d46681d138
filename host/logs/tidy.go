package logs

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"
)

// tidy makes room for one more rotated file: it drops the oldest and packs the others. The runtime closed them long
// ago.
func (r Rotation) tidy(root *os.Root, base string, stamps []string) error {
	errs := []error{removeDrafts(root, base)}
	keep := max(r.MaxFiles-2, 0) // besides the next one and the one that is written to
	for i, stamp := range stamps {
		name := base + "." + stamp
		if i < len(stamps)-keep {
			errs = append(errs, remove(root, name), remove(root, name+packedSuffix))
		} else {
			errs = append(errs, pack(root, name))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("tidy rotated logs: %w", err)
	}
	return nil
}

// removeDrafts removes what packing left behind when it was cut short.
func removeDrafts(root *os.Root, base string) error {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return err
	}
	var errs []error
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), base+".") && strings.HasSuffix(entry.Name(), draftSuffix) {
			errs = append(errs, remove(root, entry.Name()))
		}
	}
	return errors.Join(errs...)
}

func remove(root *os.Root, name string) error {
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// pack compresses a rotated file. At every moment the file exists whole, in one form or in
// both.
func pack(root *os.Root, name string) error {
	plain, err := root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it was packed before
	}
	if err != nil {
		return err
	}
	defer plain.Close()
	draft := name + packedSuffix + draftSuffix
	if err := deflate(root, plain, draft); err != nil {
		return errors.Join(err, remove(root, draft))
	}
	if err := root.Rename(draft, name+packedSuffix); err != nil {
		return errors.Join(err, remove(root, draft))
	}
	return remove(root, name)
}

func deflate(root *os.Root, plain *os.File, name string) error {
	info, err := plain.Stat()
	if err != nil {
		return err
	}
	packed, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm())
	if err != nil {
		return err
	}
	out := gzip.NewWriter(packed)
	_, err = io.Copy(out, plain)
	// It is on the disk before the plain file goes: power may fail between the two.
	if err = errors.Join(err, out.Close(), packed.Sync(), packed.Close()); err != nil {
		return err
	}
	// Its time shows readers that it is the file that they have read.
	return root.Chtimes(name, time.Time{}, info.ModTime())
}
