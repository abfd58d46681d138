package registry

import (
	"errors"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"nodal/node"
)

// errNoName refuses an image without a name.
var errNoName = fmt.Errorf("the tarball does not name its image: give a name, such as docker.io/library/app:1: %w", node.ErrInvalid)

// containerdName is the annotation that containerd and docker add, since the one
// of the specification often holds no more than the tag.
const containerdName = "io.containerd.image.name"

// images finds the images of a tarball. Tools that write both forms name the
// images at least in one.
func (st *stage) images(name string) ([]found, error) {
	_, hasIndex := st.names["index.json"]
	_, hasManifest := st.names["manifest.json"]
	switch {
	case hasIndex:
		images, err := st.ociImages(name)
		if !errors.Is(err, errNoName) || !hasManifest {
			return images, err
		}
		return st.dockerImages(name)
	case hasManifest:
		return st.dockerImages(name)
	}
	return nil, fmt.Errorf("the tarball holds no image, or is cut short: neither index.json (OCI) nor manifest.json (docker save) is in it: %w", node.ErrInvalid)
}

func (st *stage) ociImages(name string) ([]found, error) {
	var index v1.IndexManifest
	if err := st.readFile("index.json", &index); err != nil {
		return nil, err
	}
	var images []found
	for _, root := range index.Manifests {
		if p := root.Platform; ociName(root) == "" && p != nil && !isOurs(p.OS, p.Architecture) {
			continue // an image for other machines, that stands beside ours
		}
		image, err := st.ociImage(root, name)
		if err != nil {
			return nil, err
		}
		images = append(images, image)
	}
	return checkCount(images, name)
}

func (st *stage) ociImage(root v1.Descriptor, name string) (found, error) {
	var own []string
	if n := ociName(root); n != "" {
		own = []string{n}
	}
	references, err := fullReferences(name, own)
	if err != nil {
		return found{}, err
	}
	if len(references) == 0 {
		return found{}, errNoName
	}
	tree, err := readTree(st, root)
	if err != nil {
		return found{}, fmt.Errorf("image %s: %w", references[0], err)
	}
	return found{root: root, tree: tree, references: references}, nil
}

func ociName(root v1.Descriptor) string {
	if name := root.Annotations[containerdName]; name != "" {
		return name
	}
	if name := root.Annotations[refName]; !isBareTag(name) {
		return name
	}
	return ""
}

// checkCount refuses a tarball without images, and one name for many.
func checkCount(images []found, name string) ([]found, error) {
	if len(images) == 0 {
		return nil, fmt.Errorf("the tarball holds no image for this node's %s: %w", platform(), node.ErrInvalid)
	}
	if name != "" && len(images) > 1 {
		return nil, fmt.Errorf("the tarball holds %d images, and there is one name for them, %s: %w", len(images), name, node.ErrInvalid)
	}
	return images, nil
}

// readFile decodes a document of the tarball.
func (st *stage) readFile(name string, into any) error {
	file, err := st.file(name)
	if err != nil {
		return err
	}
	if err := readDocument(st, file, into); err != nil {
		return fmt.Errorf("read %s of the tarball: %w", name, err)
	}
	return nil
}
