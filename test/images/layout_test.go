package images

import (
	"archive/tar"
	"bytes"
	"os"
	goruntime "runtime"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// layoutOfIndex returns a tarball with an image for this platform and one for another.
func layoutOfIndex(t *testing.T, reference string) []byte {
	t.Helper()
	index := mutate.AppendManifests(empty.Index,
		mutate.IndexAddendum{Add: makeImage(t), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "s390x"}}},
		mutate.IndexAddendum{Add: makeImage(t), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: goruntime.GOARCH}}})
	root := mutate.IndexAddendum{Add: index, Descriptor: v1.Descriptor{Annotations: map[string]string{"io.containerd.image.name": reference}}}
	dir := t.TempDir()
	if _, err := layout.Write(dir, mutate.AppendManifests(empty.Index, root)); err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	w := tar.NewWriter(&file)
	if err := w.AddFS(os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}
