package openapi

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
)

//go:embed openapi.json.gz
var packed []byte

// Document is the OpenAPI description of everything that is served over HTTP.
func Document() ([]byte, error) {
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("unpack the OpenAPI document: %w", err)
	}
	text, err := io.ReadAll(reader)
	if err != nil {
		return nil, fmt.Errorf("unpack the OpenAPI document: %w", err)
	}
	return text, nil
}
