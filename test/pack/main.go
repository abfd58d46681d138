package main

import (
	"archive/tar"
	"bytes"
	"log"
	"maps"
	"os"
	"slices"

	"github.com/klauspost/compress/zstd"

	"nodal"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: pack FILE")
	}
	if err := pack(os.Args[1]); err != nil {
		log.Fatalf("pack the documents: %v", err)
	}
}

// window is as much as a decoder keeps of what it has unpacked: more than all documents have gains nothing.
const window = 512 << 10

// pack writes the same bytes for the same documents.
func pack(file string) error {
	texts, err := nodal.Documents()
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	encoder, err := zstd.NewWriter(&packed, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(window))
	if err != nil {
		return err
	}
	archive := tar.NewWriter(encoder)
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(texts[name]))}); err != nil {
			return err
		}
		if _, err := archive.Write(texts[name]); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	if err := encoder.Close(); err != nil {
		return err
	}
	return os.WriteFile(file, packed.Bytes(), 0o644)
}
