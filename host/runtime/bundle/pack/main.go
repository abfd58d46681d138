// Command pack turns the programs that build.sh made into what the kubelet
// embeds: bundle.tar.zst and its table of contents, bundle.json.
//
//	pack SOURCE OUT name=version...
//
// The same files and versions give the same bytes: nothing of the machine, the
// user or the time goes in.
package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/DataDog/zstd"
)

// level is the highest. Its window spans the whole archive, so that the Go
// runtime and the libraries that every program contains are stored once.
const level = 22

// mode is every file's: they are all programs.
const mode = 0o755

// index lists the files by which the kubelet checks an unpacked bundle.
type index struct {
	Versions map[string]string `json:"versions"`
	Files    []file            `json:"files"`
}

type file struct {
	Path   string      `json:"path"`
	Size   int64       `json:"size"`
	SHA256 string      `json:"sha256"`
	Mode   fs.FileMode `json:"mode"`
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: pack SOURCE OUT name=version...")
		os.Exit(2)
	}
	if err := pack(os.Args[1], os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

func pack(source, out string, versions []string) error {
	toc := index{Versions: map[string]string{}}
	for _, v := range versions {
		name, version, ok := strings.Cut(v, "=")
		if !ok || version == "" {
			return fmt.Errorf("version %q: want name=version", v)
		}
		toc.Versions[name] = version
	}
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	if err := toc.addAll(w, os.DirFS(source)); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("finish the archive: %w", err)
	}
	compressed, err := zstd.CompressLevel(nil, archive.Bytes(), level)
	if err != nil {
		return fmt.Errorf("compress the archive: %w", err)
	}
	text, err := json.MarshalIndent(toc, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the table of contents: %w", err)
	}
	if err := os.WriteFile(filepath.Join(out, "bundle.tar.zst"), compressed, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, "bundle.json"), append(text, '\n'), 0o644)
}

// addAll adds every file of a directory. WalkDir goes by name, so the order is
// always the same.
func (toc *index) addAll(w *tar.Writer, source fs.FS) error {
	return fs.WalkDir(source, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(source, path)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(content)
		f := file{Path: path, Size: int64(len(content)), SHA256: hex.EncodeToString(sum[:]), Mode: mode}
		toc.Files = append(toc.Files, f)
		return add(w, f, content)
	})
}

func add(w *tar.Writer, f file, content []byte) error {
	err := w.WriteHeader(&tar.Header{
		Name:    f.Path,
		Size:    f.Size,
		Mode:    int64(f.Mode),
		ModTime: time.Unix(0, 0),
		Format:  tar.FormatUSTAR,
	})
	if err != nil {
		return fmt.Errorf("add %s: %w", f.Path, err)
	}
	if _, err := w.Write(content); err != nil {
		return fmt.Errorf("add %s: %w", f.Path, err)
	}
	return nil
}
