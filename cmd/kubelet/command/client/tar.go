package client

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// unpack writes the files of a tar below a directory: what lies at base becomes name. The tar comes from a container, so
// nothing of it may lead out of the directory.
func unpack(from io.Reader, root *os.Root, base, name string, note func(error)) error {
	archive := tar.NewReader(from)
	for {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read what tar sends: %w", err)
		}
		rest, ok := below(head.Name, base)
		if !ok {
			return fmt.Errorf("tar sends %q, which was not asked for; the container may be hostile", head.Name)
		}
		if err := unpackOne(archive, head, root, path.Join(name, rest), note); err != nil {
			return err
		}
	}
}

// below returns the path of an entry below base.
func below(entry, base string) (rest string, ok bool) {
	entry = path.Clean(entry)
	if entry == base {
		return "", true
	}
	rest, ok = strings.CutPrefix(entry, base+"/")
	return rest, ok && filepath.IsLocal(rest)
}

func unpackOne(archive *tar.Reader, head *tar.Header, root *os.Root, to string, note func(error)) error {
	mode := fs.FileMode(head.Mode).Perm()
	switch head.Typeflag {
	case tar.TypeDir:
		err := root.MkdirAll(to, mode|0o700)
		return err
	case tar.TypeReg:
		if err := root.MkdirAll(path.Dir(to), 0o755); err != nil {
			return err
		}
		f, err := root.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, archive)
		return errors.Join(err, f.Close())
	}
	note(fmt.Errorf("%s is left out: it is neither a file nor a directory", head.Name))
	return nil
}

// pack writes a file, or a directory with all below it, as a tar in which it has the name.
func pack(to io.Writer, from, name string, note func(error)) error {
	archive := tar.NewWriter(to)
	err := filepath.WalkDir(from, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		rest, err := filepath.Rel(from, file)
		if err != nil {
			return err
		}
		if !info.IsDir() && !info.Mode().IsRegular() {
			note(fmt.Errorf("%s is left out: it is neither a file nor a directory", file))
			return nil
		}
		return packOne(archive, file, path.Join(name, filepath.ToSlash(rest)), info)
	})
	return errors.Join(err, archive.Close())
}

func packOne(archive *tar.Writer, file, name string, info fs.FileInfo) error {
	head := &tar.Header{Name: name, Mode: int64(info.Mode().Perm()), ModTime: info.ModTime(), Typeflag: tar.TypeDir}
	if info.IsDir() {
		return archive.WriteHeader(head)
	}
	head.Typeflag, head.Size = tar.TypeReg, info.Size()
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := archive.WriteHeader(head); err != nil {
		return err
	}
	_, err = io.CopyN(archive, f, info.Size())
	return err
}
