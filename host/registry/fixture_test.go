package registry

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	goruntime "runtime"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"

	"nodal/node"
)

func openStore(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(Config{Dir: dir, Reserve: 1, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// importAll imports and fails the test if that does.
func importAll(t testing.TB, s *Store, tarball []byte, o Options) []node.ImportedImage {
	t.Helper()
	images, err := s.Import(t.Context(), bytes.NewReader(tarball), o)
	if err != nil {
		t.Fatal(err)
	}
	return images
}

// makeImage makes an image of random content for a platform.
func makeImage(t testing.TB, arch string) v1.Image {
	t.Helper()
	image, err := random.Image(3000, 2)
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", arch
	if image, err = mutate.ConfigFile(image, config); err != nil {
		t.Fatal(err)
	}
	return image
}

func ourImage(t testing.TB) v1.Image { return makeImage(t, goruntime.GOARCH) }

// otherArch returns an architecture other than this machine's.
func otherArch() string {
	if goruntime.GOARCH == "s390x" {
		return "amd64"
	}
	return "s390x"
}

func digestOf(t testing.TB, one interface{ Digest() (v1.Hash, error) }) string {
	t.Helper()
	digest, err := one.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest.String()
}

// entry is a file of a tarball, or a link.
type entry struct {
	name string
	data []byte
	link string
}

func tarOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Size: int64(len(e.data)), Mode: 0o644, Typeflag: tar.TypeReg}
		if e.link != "" {
			h.Typeflag, h.Linkname = tar.TypeSymlink, e.link
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(e.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// dockerSave packs an image in docker's classic form: plain layers, each in a
// directory of its own, the second time as a link.
func dockerSave(t testing.TB, image v1.Image, tags ...string) []entry {
	t.Helper()
	config, err := image.RawConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	entries := []entry{{name: "config.json", data: config}}
	var paths []string
	for i, layer := range layers {
		r, err := layer.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, fmt.Sprintf("layer%d/layer.tar", i))
		entries = append(entries,
			entry{name: fmt.Sprintf("blob%d.tar", i), data: data},
			entry{name: paths[i], link: fmt.Sprintf("../blob%d.tar", i)})
	}
	manifest, err := json.Marshal([]dockerImage{{Config: "config.json", RepoTags: tags, Layers: paths}})
	if err != nil {
		t.Fatal(err)
	}
	return append(entries, entry{name: "manifest.json", data: manifest})
}

// ociLayout packs roots, each with its annotations.
func ociLayout(t testing.TB, roots ...mutate.IndexAddendum) []entry {
	t.Helper()
	dir := t.TempDir()
	if _, err := layout.Write(dir, mutate.AppendManifests(empty.Index, roots...)); err != nil {
		t.Fatal(err)
	}
	return entriesBelow(t, dir)
}

func entriesBelow(t testing.TB, dir string) []entry {
	t.Helper()
	var entries []entry
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		entries = append(entries, entry{name: name, data: data})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// named is a root that carries annotations.
func named(one mutate.Appendable, annotations map[string]string) mutate.IndexAddendum {
	return mutate.IndexAddendum{Add: one, Descriptor: v1.Descriptor{Annotations: annotations}}
}

// filesBelow are the names of all files of a store, but for the layout's own.
func filesBelow(t testing.TB, dir string) []string {
	t.Helper()
	var names []string
	for _, e := range entriesBelow(t, dir) {
		if e.name != "oci-layout" {
			names = append(names, e.name)
		}
	}
	return names
}
