package registry

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestAStoreOpensAsItWasClosed(t *testing.T) {
	dir := t.TempDir()
	images := importAll(t, openStore(t, dir), tarOf(t, dockerSave(t, ourImage(t), "app:1", "app:2")...), Options{})
	again := openStore(t, dir)
	for _, image := range images {
		root, ok := again.root(image.Reference)
		if !ok || root.Digest.String() != image.Digest {
			t.Errorf("%s: got %v, want %s", image.Reference, root.Digest, image.Digest)
		}
	}
}

func TestOpeningSweepsWhatACrashLeft(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	importAll(t, s, tarOf(t, dockerSave(t, ourImage(t), "app:1")...), Options{})
	want := filesBelow(t, dir)

	// Three remains of a crash: an import cut off while it read, one that had kept a blob but
	// not named it, and a half-written index.
	st, err := s.newStage()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.add(strings.NewReader("half a layer")); err != nil {
		t.Fatal(err)
	}
	blob, err := st.add(strings.NewReader("a whole layer"))
	if err != nil {
		t.Fatal(err)
	}
	if err := st.commit(blob, filepath.Join(s.blobs(), blob.Digest.Hex)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.staging(), "index.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}

	again := openStore(t, dir)
	if got := filesBelow(t, dir); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, ok := again.root("docker.io/library/app:1"); !ok {
		t.Error("the image is gone")
	}
}

func TestAnImageThatIsNotWholeIsDroppedAndTheOthersStay(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	importAll(t, s, tarOf(t, dockerSave(t, ourImage(t), "whole:1")...), Options{})
	broken := importAll(t, s, tarOf(t, dockerSave(t, ourImage(t), "broken:1")...), Options{})
	id := strings.TrimPrefix(broken[0].ID, "sha256:")
	if err := os.Truncate(filepath.Join(s.blobs(), id), 3); err != nil {
		t.Fatal(err)
	}
	again := openStore(t, dir)
	if _, ok := again.root("docker.io/library/broken:1"); ok {
		t.Error("the broken image is still served")
	}
	if _, ok := again.root("docker.io/library/whole:1"); !ok {
		t.Error("the whole image is gone")
	}
}

func TestAnImageThatCannotBeReadForAWhileStays(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	image := importAll(t, s, tarOf(t, dockerSave(t, ourImage(t), "app:1")...), Options{})
	blob := filepath.Join(s.blobs(), strings.TrimPrefix(image[0].ID, "sha256:"))
	// No user may read through a link to itself.
	if err := errors.Join(os.Rename(blob, blob+".away"), os.Symlink(blob, blob)); err != nil {
		t.Fatal(err)
	}
	importAll(t, s, tarOf(t, dockerSave(t, ourImage(t), "other:1")...), Options{})
	again := openStore(t, dir)
	if err := os.Rename(blob+".away", blob); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Store{s, again, openStore(t, dir)} {
		if root, ok := s.root("docker.io/library/app:1"); !ok || s.id(root) != image[0].ID {
			t.Errorf("the image is %q (named: %t), want %q", s.id(root), ok, image[0].ID)
		}
	}
}

func TestADamagedIndexCostsTheImagesNotTheStart(t *testing.T) {
	dir := t.TempDir()
	tarball := tarOf(t, dockerSave(t, ourImage(t), "app:1")...)
	importAll(t, openStore(t, dir), tarball, Options{})
	if err := os.WriteFile(filepath.Join(dir, "index.json"), []byte(`{"manifests":[`), 0o600); err != nil {
		t.Fatal(err)
	}
	s := openStore(t, dir)
	if _, err := os.Stat(filepath.Join(dir, "index.json.damaged")); err != nil {
		t.Errorf("the damaged index is not set aside: %v", err)
	}
	if got := importAll(t, s, tarball, Options{}); len(got) != 1 {
		t.Errorf("import again: got %v, want one image", got)
	}
}

func TestImportingAnewMendsABlob(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	tarball := tarOf(t, dockerSave(t, ourImage(t), "app:1")...)
	image := importAll(t, s, tarball, Options{})[0]
	path := filepath.Join(s.blobs(), strings.TrimPrefix(image.ID, "sha256:"))
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.Repeat([]byte{'x'}, len(want)), 0o600); err != nil {
		t.Fatal(err)
	}
	importAll(t, s, tarball, Options{})
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the blob is still damaged (error %v)", err)
	}
}

func TestSeedingIsDeterministicAndReplacesTheOldPause(t *testing.T) {
	s := openStore(t, t.TempDir())
	first, err := s.Seed([]byte("program 1"))
	if err != nil {
		t.Fatal(err)
	}
	elsewhere, err := openStore(t, t.TempDir()).Seed([]byte("program 1"))
	if err != nil || elsewhere != first {
		t.Errorf("on another node: got %s (error %v), want %s", elsewhere, err, first)
	}
	if again, err := s.Seed([]byte("program 1")); err != nil || again != first {
		t.Errorf("once more: got %s (error %v), want %s", again, err, first)
	}
	if !strings.HasPrefix(first, "nodal.local/pause:") || len(first) != len("nodal.local/pause:")+12 {
		t.Errorf("got %q, want nodal.local/pause: and twelve digits", first)
	}
	second, err := s.Seed([]byte("program 2"))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := s.root(first); ok {
		t.Error("the older pause image is still there")
	}
	if _, ok := s.root(second); !ok {
		t.Error("the new pause image is not there")
	}
}

// A full disk is tidied by the agent, which has to start for that.
func TestWhatIsThereAlreadyNeedsNoSpace(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(Config{Dir: dir, Reserve: 1 << 60})
	if err != nil {
		t.Fatal(err)
	}
	first, err := s.Seed([]byte("program"))
	if err != nil {
		t.Fatalf("with less space than is kept free: %v", err)
	}
	layout, old := filepath.Join(dir, "oci-layout"), time.Unix(1000, 0)
	if err := os.Chtimes(layout, old, old); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(Config{Dir: dir, Reserve: 1 << 60}); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(layout); err != nil || !info.ModTime().Equal(old) {
		t.Errorf("the file of the layout is written again (%v, %v)", info, err)
	}
	if err := os.RemoveAll(s.staging()); err != nil {
		t.Fatal(err)
	}
	if again, err := s.Seed([]byte("program")); err != nil || again != first {
		t.Errorf("without a place to write to: got %s, %v; want %s", again, err, first)
	}
}
