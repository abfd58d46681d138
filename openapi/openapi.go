package openapi

import _ "embed"

//go:embed openapi.json
var document []byte

// Document is the OpenAPI description of everything that is served over HTTP.
// It must not be changed.
func Document() []byte { return document }
