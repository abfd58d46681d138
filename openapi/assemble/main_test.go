package main

import (
	"os"
	"path/filepath"
	"testing"
)

const generatedPart = `{"paths": {
  "/v1/manifests": {
    "post": {"requestBody": {"content": {"application/json": {"schema": {"type": "string"}}}}},
    "delete": {"parameters": [{"name": "manifest", "in": "query"}, {"name": "grace", "in": "query"}]}},
  "/v1/things:watch": {"get": {"responses": {"200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}}}}}},
  "/v1/logs": {"get": {"responses": {"200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/google.api.HttpBody"}}}}}}}},
 "components": {"schemas": {"Thing": {"type": "object"}, "google.api.HttpBody": {"type": "object"}}},
 "tags": [{"name": "Things"}]}`

func assembled(t *testing.T) object {
	t.Helper()
	dir := t.TempDir()
	overlay := filepath.Join(dir, "overlay.yaml")
	part := filepath.Join(dir, "node", "v1", "things.json")
	if err := os.MkdirAll(filepath.Dir(part), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{overlay: "paths: {/pods: {get: {}}}\ncomponents: {}\n", part: generatedPart} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	document, err := assemble(dir, overlay)
	if err != nil {
		t.Fatal(err)
	}
	return document
}

func TestTheDocumentTellsWhatTheGeneratorCannotKnow(t *testing.T) {
	document := assembled(t)
	paths := at(document, "paths")
	if len(paths) != 4 {
		t.Errorf("got %d paths, want the three generated and the one by hand", len(paths))
	}
	for _, method := range []string{"post", "delete"} {
		if at(paths, "/v1/manifests", method, "requestBody", "content", "application/yaml") == nil {
			t.Errorf("%s: the manifest is no YAML body", method)
		}
	}
	if left := at(paths, "/v1/manifests", "delete")["parameters"].([]any); len(left) != 1 || left[0].(object)["name"] != "grace" {
		t.Errorf("parameters of delete: got %v, want grace alone", left)
	}
	if at(paths, "/v1/things:watch", "get", "responses", "200", "content", "text/event-stream") == nil {
		t.Error("the watch offers no events")
	}
	if at(paths, "/v1/logs", "get", "responses", "200", "content", "text/plain") == nil {
		t.Error("logs are no plain text")
	}
	if schemas := at(document, "components", "schemas"); len(schemas) != 1 {
		t.Errorf("schemas: got %v, want Thing alone", schemas)
	}
}

func TestNothingGeneratedIsAnError(t *testing.T) {
	overlay := filepath.Join(t.TempDir(), "overlay.yaml")
	if err := os.WriteFile(overlay, []byte("paths: {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := assemble(t.TempDir(), overlay); err == nil {
		t.Error("got no error")
	}
}
