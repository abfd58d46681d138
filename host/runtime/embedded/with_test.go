//go:build bundle

package embedded

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"
)

type file struct {
	Path   string
	Size   int64
	SHA256 string
	Mode   int64
}

// The two files are put into their place one after the other: what a build has
// caught must belong together.
func TestTheIndexListsTheFilesOfTheArchive(t *testing.T) {
	archive, index, ok := Bundle()
	if !ok {
		t.Fatal("built with the tag, and there is no bundle")
	}
	var want struct{ Files []file }
	if err := json.Unmarshal(index, &want); err != nil {
		t.Fatal(err)
	}
	if got := unpacked(t, archive); !slices.Equal(got, want.Files) {
		t.Errorf("the archive holds %v, want %v", got, want.Files)
	}
	for _, path := range []string{
		"bin/containerd", "bin/containerd-shim-runc-v2", "bin/hold", "bin/runc",
		"cni/nodal", "cni/portmap",
	} {
		if !slices.ContainsFunc(want.Files, func(f file) bool { return f.Path == path }) {
			t.Errorf("the index has no %s", path)
		}
	}
}

func unpacked(t *testing.T, archive []byte) []file {
	t.Helper()
	decoder, err := zstd.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	defer decoder.Close()
	var files []file
	for r := tar.NewReader(decoder); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.New()
		if _, err := io.Copy(sum, r); err != nil {
			t.Fatal(err)
		}
		files = append(files, file{header.Name, header.Size, hex.EncodeToString(sum.Sum(nil)), header.Mode})
	}
}
