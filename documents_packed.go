//go:build packed

package nodal

import (
	"archive/tar"
	"bytes"
	_ "embed"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Nothing ever writes to it.
//
//go:embed documents.tar.zst
var documents []byte

// Documents returns the text of each page by the path that it has here, so that links between pages hold.
func Documents() (map[string][]byte, error) {
	texts, err := unpacked()
	if err != nil {
		return nil, fmt.Errorf("unpack the documents: %w", err)
	}
	return texts, nil
}

func unpacked() (map[string][]byte, error) {
	decoder, err := zstd.NewReader(bytes.NewReader(documents), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer decoder.Close()
	texts, archive := map[string][]byte{}, tar.NewReader(decoder)
	for {
		head, err := archive.Next()
		if err == io.EOF {
			return texts, nil
		}
		if err != nil {
			return nil, err
		}
		if texts[head.Name], err = io.ReadAll(archive); err != nil {
			return nil, err
		}
	}
}
