package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	goruntime "runtime"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"nodal/node"
)

const (
	maxDocument = 4 << 20 // bytes of a manifest, an index or a configuration
	maxDepth    = 4       // of indexes within indexes
)

// content holds blobs: a store, or the stage of an import.
type content interface {
	path(v1.Hash) (string, error)
}

// tree is everything that an image needs on this platform.
type tree struct {
	config v1.Descriptor
	blobs  []v1.Descriptor // indexes and manifest, configuration, layers
}

// layers returns the blobs after the configuration.
func (t tree) layers() []v1.Descriptor {
	at := slices.IndexFunc(t.blobs, func(b v1.Descriptor) bool { return b.Digest == t.config.Digest })
	return t.blobs[at+1:]
}

func (t tree) size() int64 {
	var sum int64
	for _, blob := range t.blobs {
		sum += blob.Size
	}
	return sum
}

// readTree follows a root to its leaves and finds each of them in place, of the
// size that was said. What an index names for other platforms is left out.
func readTree(from content, root v1.Descriptor) (tree, error) {
	var t tree
	at := root
	for depth := 0; at.MediaType.IsIndex(); depth++ {
		if depth == maxDepth {
			return t, fmt.Errorf("index %s: more than %d indexes within each other: %w", at.Digest, maxDepth, node.ErrInvalid)
		}
		var index v1.IndexManifest
		if err := readDocument(from, at, &index); err != nil {
			return t, err
		}
		t.blobs = append(t.blobs, at)
		next, err := choose(from, index)
		if err != nil {
			return t, fmt.Errorf("index %s: %w", at.Digest, err)
		}
		at = next
	}
	if !at.MediaType.IsImage() {
		return t, fmt.Errorf("%s is of media type %q, which is no image: %w", at.Digest, at.MediaType, node.ErrInvalid)
	}
	var manifest v1.Manifest
	if err := readDocument(from, at, &manifest); err != nil {
		return t, err
	}
	t.config = manifest.Config
	if err := checkPlatform(from, t.config); err != nil {
		return t, err
	}
	t.blobs = append(append(t.blobs, at, t.config), manifest.Layers...)
	for _, blob := range t.blobs {
		if _, err := find(from, blob); err != nil {
			return t, err
		}
	}
	return t, nil
}

// damaged reports whether an error shows that a part of an image is missing or wrong. Other
// errors may be gone at the next try: a slow disk, too many open files.
func damaged(err error) bool {
	return errors.Is(err, node.ErrNotFound) || errors.Is(err, os.ErrNotExist) || errors.Is(err, node.ErrInvalid)
}

// choose picks the image for this platform out of an index. Tools that save only
// part of an index leave its other entries without content.
func choose(from content, index v1.IndexManifest) (v1.Descriptor, error) {
	var others []string
	for _, d := range index.Manifests {
		if p := d.Platform; p != nil && !isOurs(p.OS, p.Architecture) {
			others = append(others, p.OS+"/"+p.Architecture)
			continue
		}
		if _, err := from.path(d.Digest); err == nil {
			return d, nil
		} else if !damaged(err) {
			return v1.Descriptor{}, err
		}
	}
	return v1.Descriptor{}, fmt.Errorf("there is no image for this node's %s in it, but for %q: %w", platform(), others, node.ErrInvalid)
}

// checkPlatform refuses what would fail only when a container starts.
func checkPlatform(from content, config v1.Descriptor) error {
	var is struct{ OS, Architecture string }
	if err := readDocument(from, config, &is); err != nil {
		return err
	}
	if is.OS == "" && is.Architecture == "" || isOurs(is.OS, is.Architecture) {
		return nil
	}
	return fmt.Errorf("the image is for %s/%s, this node is %s: %w", is.OS, is.Architecture, platform(), node.ErrInvalid)
}

func isOurs(os, arch string) bool { return os == "linux" && arch == goruntime.GOARCH }
func platform() string            { return "linux/" + goruntime.GOARCH }

// find returns the path of a blob that is complete.
func find(from content, blob v1.Descriptor) (string, error) {
	path, err := from.path(blob.Digest)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("blob %s: %w", blob.Digest, err)
	}
	if info.Size() != blob.Size {
		return "", fmt.Errorf("blob %s has %d bytes, not the %d that are said: %w", blob.Digest, info.Size(), blob.Size, node.ErrInvalid)
	}
	return path, nil
}

func readDocument(from content, blob v1.Descriptor, into any) error {
	path, err := find(from, blob)
	if err != nil {
		return err
	}
	text, err := readSmall(path)
	if err != nil {
		return fmt.Errorf("blob %s: %w", blob.Digest, err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("decode blob %s: %w: %w", blob.Digest, err, node.ErrInvalid)
	}
	return nil
}

// readSmall reads a file that has to fit into memory.
func readSmall(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxDocument+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxDocument {
		return nil, fmt.Errorf("a document of more than %d bytes: %w", maxDocument, node.ErrTooLarge)
	}
	return text, nil
}
