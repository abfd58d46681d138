package images

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"nodal/host/registry"
	"nodal/node"
	"nodal/reconciler/gc"
)

// scriptedPuller answers a pull as the test says, and remembers it.
type scriptedPuller struct {
	pulled []string
	pull   func(reference string) (string, error)
}

func (p *scriptedPuller) Pull(_ context.Context, reference string, _ *node.Credential) (node.LocalImage, error) {
	p.pulled = append(p.pulled, reference)
	id, err := p.pull(reference)
	return node.LocalImage{ID: id}, err
}

func (p *scriptedPuller) ListImages(context.Context) ([]node.LocalImage, error) {
	return []node.LocalImage{{ID: "sha256:a", References: []string{"app:1"}, Digests: []string{"app@sha256:b"}, Size: 7, Pinned: true}}, nil
}

// Image finds nothing: the runtime has given everything up.
func (p *scriptedPuller) Image(context.Context, string) (*node.LocalImage, error) { return nil, nil }

func (p *scriptedPuller) CountPulled(context.Context, []node.Pull) error { return nil }

var _ Runtime = (*scriptedPuller)(nil)

// savedImage is a tarball with two names for one image, and the image's id.
func savedImage(t *testing.T) (file []byte, id string) {
	t.Helper()
	image, err := random.Image(1000, 1)
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", goruntime.GOARCH
	if image, err = mutate.ConfigFile(image, config); err != nil {
		t.Fatal(err)
	}
	digest, err := image.ConfigName()
	if err != nil {
		t.Fatal(err)
	}
	tags := map[name.Tag]v1.Image{}
	for _, reference := range []string{"registry.test/app:1", "registry.test/app:2"} {
		tag, err := name.NewTag(reference)
		if err != nil {
			t.Fatal(err)
		}
		tags[tag] = image
	}
	var b bytes.Buffer
	if err := tarball.MultiWrite(tags, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), digest.String()
}

func openImages(t *testing.T, pull func(string) (string, error)) (*Shelf, *scriptedPuller) {
	t.Helper()
	store, err := registry.Open(registry.Config{Dir: t.TempDir(), Reserve: 1})
	if err != nil {
		t.Fatal(err)
	}
	puller := &scriptedPuller{pull: pull}
	return &Shelf{Runtime: puller, Store: store}, puller
}

func TestAnImportEndsWhenTheRuntimeHasTheImages(t *testing.T) {
	file, id := savedImage(t)
	i, puller := openImages(t, func(string) (string, error) { return id, nil })
	var told []string
	got, err := i.Import(t.Context(), bytes.NewReader(file), node.Import{Tell: func(p node.ImportProgress) {
		if p.Reference != "" {
			told = append(told, p.Reference)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"registry.test/app:1", "registry.test/app:2"}
	for _, seen := range [][]string{puller.pulled, told} {
		if slices.Sort(seen); !slices.Equal(seen, want) {
			t.Errorf("got %q pulled or told, want %q", seen, want)
		}
	}
	if len(got) != 2 || got[0].ID != id || got[0].Digest == "" || got[0].Size == 0 {
		t.Errorf("got %+v, want two references of %s", got, id)
	}
}

func TestAnImportIsNoSuccessUnlessTheRuntimeTookIt(t *testing.T) {
	file, _ := savedImage(t)
	down := fmt.Errorf("the runtime is down: %w", node.ErrUnavailable)
	for _, c := range []struct {
		name string
		pull func(string) (string, error)
		want error
		text string
	}{
		{"because it is down", func(string) (string, error) { return "", down }, node.ErrUnavailable, "is kept, but not ready"},
		{"because it took another image", func(string) (string, error) { return "sha256:other", nil }, node.ErrConflict, "does not lead to this node"},
	} {
		t.Run(c.name, func(t *testing.T) {
			i, _ := openImages(t, c.pull)
			got, err := i.Import(t.Context(), bytes.NewReader(file), node.Import{Tell: func(node.ImportProgress) {}})
			if got != nil || !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v and error %v, want %v with %q", got, err, c.want, c.text)
			}
		})
	}
}

func TestWhatTheRuntimeHasGivenUpIsRemovedFromTheNodesRegistry(t *testing.T) {
	file, id := savedImage(t)
	i, _ := openImages(t, func(string) (string, error) { return id, nil })
	if _, err := i.Import(t.Context(), bytes.NewReader(file), node.Import{Tell: func(node.ImportProgress) {}}); err != nil {
		t.Fatal(err)
	}
	got, err := i.Remove(t.Context(), "registry.test/app:2")
	if want := []string{"registry.test/app:1", "registry.test/app:2"}; err != nil || !slices.Equal(got.References, want) {
		t.Errorf("removed %+v, %v, want %q", got, err, want)
	}
	if got, err := i.Remove(t.Context(), "registry.test/app:2"); !errors.Is(err, node.ErrNotFound) {
		t.Errorf("removed again: %+v, %v, want that it is not here", got, err)
	}
}

func TestAForeignRuntimeImportsByItsOwnTools(t *testing.T) {
	i := &Shelf{Runtime: &scriptedPuller{}, Endpoint: "unix:///run/crio/crio.sock"}
	_, err := i.Import(t.Context(), strings.NewReader("tarball"), node.Import{})
	if !errors.Is(err, node.ErrConflict) || !strings.Contains(err.Error(), i.Endpoint) {
		t.Errorf("got %v, want a conflict that names %s", err, i.Endpoint)
	}
}

func TestImagesAreShownAsTheRuntimeHasThem(t *testing.T) {
	i := &Shelf{Runtime: &scriptedPuller{}}
	got, err := i.List(t.Context())
	if err != nil || len(got) != 1 || got[0].ID != "sha256:a" || got[0].Digests[0] != "app@sha256:b" || !got[0].Pinned {
		t.Errorf("got %+v (error %v), want the runtime's image", got, err)
	}
}

// local removes images, unless one is stuck.
type local struct {
	gc.LocalImages
	stuck string
}

func (l local) RemoveImage(_ context.Context, id string) error {
	if id == l.stuck {
		return errors.New("it is in use")
	}
	return nil
}

// notes remembers which notes were removed.
type notes struct{ removed []string }

func (n *notes) Removed(id string) error {
	n.removed = append(n.removed, id)
	return nil
}

func TestRecordsOfAnImageThatStaysAreKept(t *testing.T) {
	n := &notes{}
	images := recorded{local{stuck: "sha256:a"}, n}
	if err := images.RemoveImage(t.Context(), "sha256:a"); err == nil {
		t.Error("an image that is in use was removed")
	}
	if err := images.RemoveImage(t.Context(), "sha256:b"); err != nil || !slices.Equal(n.removed, []string{"sha256:b"}) {
		t.Errorf("the records of %q were removed (%v), want those of sha256:b", n.removed, err)
	}
}
