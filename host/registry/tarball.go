package registry

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/zstd"

	"nodal/node"
)

const (
	maxEntries = 10_000    // of a tarball; an image has at most 127 layers
	maxNames   = 4 << 20   // bytes of the names of all entries, which are kept in memory
	maxWindow  = 128 << 20 // bytes of memory that a zstd stream may ask for
	trailer    = 1 << 20   // bytes that may follow the last entry
)

var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// decompress recognises a stream's compression by its beginning, returns its media type as a
// layer, and decompresses it.
func decompress(r io.Reader) (types.MediaType, io.ReadCloser, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	head, err := in.Peek(len(zstdMagic))
	if err != nil && !errors.Is(err, io.EOF) {
		return "", nil, err
	}
	switch {
	case bytes.HasPrefix(head, gzipMagic):
		plain, err := gzip.NewReader(in)
		return types.OCILayer, plain, err
	case bytes.HasPrefix(head, zstdMagic):
		plain, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return "", nil, err
		}
		return types.OCILayerZStd, plain.IOReadCloser(), nil
	}
	return types.OCIUncompressedLayer, io.NopCloser(in), nil
}

// unpack stages every file of a tarball.
func (st *stage) unpack(m *meter) error {
	_, in, err := decompress(m)
	if err != nil {
		return invalidUnlessOurs(m, err)
	}
	defer in.Close()
	entries, named := tar.NewReader(in), 0
	for n := 0; ; n++ {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) && n > 0 {
			// A checksum may follow, and a client wants to be read to its end.
			_, err := io.CopyN(io.Discard, in, trailer)
			return invalidUnlessOurs(m, dropEOF(err))
		}
		if err != nil {
			return invalidUnlessOurs(m, fmt.Errorf("it is no tar archive, plain or compressed by gzip or zstd, or it is cut short: %w", err))
		}
		if n == maxEntries {
			return fmt.Errorf("it has more than %d entries: %w", maxEntries, node.ErrTooLarge)
		}
		if named += len(header.Name) + len(header.Linkname); named > maxNames {
			return fmt.Errorf("the names of its entries have more than %d bytes: %w", maxNames, node.ErrTooLarge)
		}
		if err := st.take(header, entries); err != nil {
			return invalidUnlessOurs(m, fmt.Errorf("entry %q: %w", header.Name, err))
		}
	}
}

// take stages one entry. Directories and devices mean nothing in an image's tarball.
func (st *stage) take(header *tar.Header, r io.Reader) error {
	name := path.Clean(header.Name)
	switch header.Typeflag {
	case tar.TypeReg:
		file, err := st.add(r)
		if err != nil {
			return err
		}
		if said, ok := strings.CutPrefix(name, "blobs/sha256/"); ok && said != file.Digest.Hex {
			return fmt.Errorf("its content has digest %s: it is corrupt: %w", file.Digest, node.ErrInvalid)
		}
		st.names[name] = file
	case tar.TypeSymlink: // docker writes a layer once and then refers to it
		st.links[name] = path.Join(path.Dir(name), header.Linkname)
	case tar.TypeLink:
		st.links[name] = path.Clean(header.Linkname)
	}
	return nil
}

// file returns an entry of the tarball.
func (st *stage) file(name string) (v1.Descriptor, error) {
	at := path.Clean(name)
	for range 8 { // links to links; a circle is cut
		if file, ok := st.names[at]; ok {
			return file, nil
		}
		at = st.links[at]
	}
	return v1.Descriptor{}, fmt.Errorf("the tarball has no file %q: is it cut short? %w", name, node.ErrInvalid)
}

func dropEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// invalidUnlessOurs blames the tarball for errors that come neither from the disk nor from the
// sender.
func invalidUnlessOurs(m *meter, err error) error {
	var disk *fs.PathError
	if err == nil || m.failed != nil || errors.As(err, &disk) || errors.Is(err, node.ErrNoSpace) || errors.Is(err, node.ErrTooLarge) {
		return err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("it is cut short: %w", err)
	}
	return fmt.Errorf("%w: %w", err, node.ErrInvalid)
}
