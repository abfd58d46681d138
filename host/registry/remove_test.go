package registry

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"nodal/node"
)

func TestARemovedImageTakesAlongWhatNoOtherNeeds(t *testing.T) {
	image := ourImage(t)
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config = config.DeepCopy()
	config.Author = "somebody else"
	sharing, err := mutate.ConfigFile(image, config) // other configuration, same layers
	if err != nil {
		t.Fatal(err)
	}
	for _, by := range []string{"a name", "its id"} {
		t.Run("by "+by, func(t *testing.T) {
			s := openStore(t, t.TempDir())
			importAll(t, s, savedAs(t, sharing, "registry.test/kept:1"), Options{})
			before := filesBelow(t, s.blobs())
			taken := importAll(t, s, savedAs(t, image, "registry.test/app:1", "app:2"), Options{})
			asked := "app:2"
			if by == "its id" {
				asked = taken[0].ID
			}
			got, err := s.Remove(asked)
			if want := []string{"docker.io/library/app:2", "registry.test/app:1"}; err != nil || !slices.Equal(got, want) {
				t.Errorf("removed %q, %v, want %q", got, err, want)
			}
			if after := filesBelow(t, s.blobs()); !slices.Equal(after, before) {
				t.Errorf("left are the blobs %q, want %q", after, before)
			}
			if reopened := openStore(t, s.cfg.Dir); len(reopened.all()) != 1 {
				t.Errorf("after a restart there are %v, want registry.test/kept:1", reopened.all())
			}
		})
	}
}

func TestAnImageThatIsReplacedTakesAlongWhatNoOtherNeeds(t *testing.T) {
	old, next := tarOf(t, dockerSave(t, ourImage(t), "app:1")...), tarOf(t, dockerSave(t, ourImage(t), "app:1")...)
	s, alone := openStore(t, t.TempDir()), openStore(t, t.TempDir())
	importAll(t, s, old, Options{})
	importAll(t, s, next, Options{})
	importAll(t, alone, next, Options{})
	if got, want := filesBelow(t, s.blobs()), filesBelow(t, alone.blobs()); !slices.Equal(got, want) {
		t.Errorf("left are the blobs %q, want %q", got, want)
	}
}

func TestWhatCannotBeRemovedStays(t *testing.T) {
	s := openStore(t, t.TempDir())
	pause, err := s.Seed([]byte("program"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Remove(pause); !errors.Is(err, node.ErrConflict) || got != nil {
		t.Errorf("removing the pause image: %q, %v, want a conflict", got, err)
	}
	for _, unknown := range []string{"app:1", "sha256:" + strings.Repeat("0", 64), "No Name"} {
		if got, err := s.Remove(unknown); err != nil || got != nil {
			t.Errorf("removing %s: %q, %v, want nothing", unknown, got, err)
		}
	}
	if _, ok := s.root(pause); !ok {
		t.Error("the pause image is gone")
	}
}

// savedAs is an image as docker save writes it, under all of its names.
func savedAs(t *testing.T, image v1.Image, references ...string) []byte {
	t.Helper()
	tags := map[name.Tag]v1.Image{}
	for _, reference := range references {
		tag, err := name.NewTag(reference)
		if err != nil {
			t.Fatal(err)
		}
		tags[tag] = image
	}
	var file bytes.Buffer
	if err := tarball.MultiWrite(tags, &file); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}
