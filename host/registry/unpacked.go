package registry

import (
	"errors"
	"fmt"
	"io"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"nodal/node"
)

// deflateRatio is the most that gzip can shrink anything.
const deflateRatio = 1032

// checkUnpacked refuses an image whose layers unpack to more than is allowed. It looks into a layer only where its
// size leaves that open.
func (st *stage) checkUnpacked(image found, allowed int64) error {
	left := allowed
	for _, layer := range image.tree.layers() {
		size, err := st.unpackedSize(layer, left)
		if err != nil {
			return fmt.Errorf("image %s: layer %s: %w", image.references[0], layer.Digest, err)
		}
		if left -= size; left < 0 {
			return fmt.Errorf("image %s: its layers unpack to more than the %d bytes that there is room for: %w",
				image.references[0], allowed, node.ErrTooLarge)
		}
	}
	return nil
}

// unpackedSize returns the size of an unpacked layer, or an upper bound of it if that is allowed. It stops reading a
// layer that unpacks to more than allowed, and returns allowed+1.
func (st *stage) unpackedSize(layer v1.Descriptor, allowed int64) (int64, error) {
	path, err := st.path(layer.Digest)
	if err != nil {
		return 0, err
	}
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	kind, plain, err := decompress(f)
	if err != nil {
		return 0, fmt.Errorf("unpack: %w: %w", err, node.ErrInvalid)
	}
	defer plain.Close()
	switch {
	case kind == types.OCIUncompressedLayer:
		return layer.Size, nil
	case kind == types.OCILayer && layer.Size <= allowed/deflateRatio:
		return layer.Size * deflateRatio, nil
	}
	size, err := io.CopyN(io.Discard, plain, allowed+1)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, fmt.Errorf("unpack: %w: %w", err, node.ErrInvalid)
	}
	return size, nil
}
