// Package openapi holds the description of the HTTP API, openapi.json.
//
//	api/proto ── protoc-gen-openapiv3 ──▶ a document a service ─┐
//	kubelet.yaml (the paths that no proto describes) ───────────┤
//	Kubernetes' Go types (what may stand in a manifest) ────────┴─ assemble ──▶ openapi.json
//
// The binary holds it packed, in a tenth of its size.
//
// make gen generates the document; edit its sources instead. The command in assemble adds what the generator cannot
// know, such as that manifests are posted as they stand and that logs are plain text. A test of package server
// compares the document with the table of routes.
//
// Start reading at Document.
package openapi
