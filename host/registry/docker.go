package registry

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"nodal/node"
)

// dockerImage is an entry of docker save's manifest.json. Paths are in the tarball.
type dockerImage struct {
	Config   string
	RepoTags []string
	Layers   []string
}

func (st *stage) dockerImages(name string) ([]found, error) {
	var entries []dockerImage
	if err := st.readFile("manifest.json", &entries); err != nil {
		return nil, err
	}
	var images []found
	for _, entry := range entries {
		references, err := fullReferences(name, entry.RepoTags)
		if err != nil {
			return nil, err
		}
		if len(references) == 0 {
			return nil, errNoName
		}
		image, err := st.dockerImage(entry)
		if err != nil {
			return nil, fmt.Errorf("image %s: %w", references[0], err)
		}
		image.references = references
		images = append(images, image)
	}
	return checkCount(images, name)
}

// dockerImage makes the manifest that docker save leaves out. Layers stay as they
// are: their digests in the configuration are those of the plain tar.
func (st *stage) dockerImage(entry dockerImage) (found, error) {
	config, err := st.file(entry.Config)
	if err != nil {
		return found{}, err
	}
	config.MediaType = types.OCIConfigJSON
	var is v1.ConfigFile
	if err := readDocument(st, config, &is); err != nil {
		return found{}, err
	}
	if len(is.RootFS.DiffIDs) != len(entry.Layers) {
		return found{}, fmt.Errorf("its configuration knows %d layers, the tarball %d: %w", len(is.RootFS.DiffIDs), len(entry.Layers), node.ErrInvalid)
	}
	var layers []v1.Descriptor
	for i, path := range entry.Layers {
		layer, err := st.layer(path, is.RootFS.DiffIDs[i])
		if err != nil {
			return found{}, fmt.Errorf("layer %q: %w", path, err)
		}
		layers = append(layers, layer)
	}
	return st.assemble(config, layers)
}

func manifestOf(config v1.Descriptor, layers []v1.Descriptor) v1.Manifest {
	return v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1, Config: config, Layers: layers}
}

// assemble writes a manifest.
func (st *stage) assemble(config v1.Descriptor, layers []v1.Descriptor) (found, error) {
	text, err := json.Marshal(manifestOf(config, layers))
	if err != nil {
		return found{}, fmt.Errorf("encode manifest: %w", err)
	}
	root, err := st.add(bytes.NewReader(text))
	if err != nil {
		return found{}, fmt.Errorf("write manifest: %w", err)
	}
	root.MediaType = types.OCIManifestSchema1
	tree, err := readTree(st, root)
	return found{root: root, tree: tree}, err
}

// layer describes a layer and checks that it is the one that the configuration names: a
// tarball of docker save has no other check against corruption.
func (st *stage) layer(name string, diffID v1.Hash) (v1.Descriptor, error) {
	layer, err := st.file(name)
	if err != nil {
		return layer, err
	}
	layer.MediaType = types.OCIUncompressedLayer
	if layer.Digest == diffID {
		return layer, nil
	}
	path, err := st.path(layer.Digest)
	if err != nil {
		return layer, err
	}
	kind, plain, err := plainDigest(path)
	if err != nil {
		return layer, fmt.Errorf("%w: %w", err, node.ErrInvalid)
	}
	if plain != diffID {
		return layer, fmt.Errorf("its content has digest %s, the image wants %s: it is corrupt: %w", plain, diffID, node.ErrInvalid)
	}
	layer.MediaType = kind
	return layer, nil
}

// plainDigest returns the digest of a compressed layer's content.
func plainDigest(path string) (types.MediaType, v1.Hash, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", v1.Hash{}, err
	}
	defer f.Close()
	kind, plain, err := decompress(f)
	if err != nil {
		return "", v1.Hash{}, err
	}
	defer plain.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, plain); err != nil {
		return "", v1.Hash{}, fmt.Errorf("unpack %s: %w", filepath.Base(path), err)
	}
	return kind, v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(hash.Sum(nil))}, nil
}
