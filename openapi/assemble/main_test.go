package main

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
)

const generatedPart = `{"paths": {
  "/v1/manifests": {
    "post": {"requestBody": {"content": {"application/json": {"schema": {"type": "string"}}}}},
    "delete": {"parameters": [{"name": "manifest", "in": "query"}, {"name": "grace", "in": "query"}]}},
  "/v1/things/{name}": {"put": {"requestBody": {"content": {"application/json": {"schema": {"type": "string"}}}}}},
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
	if len(paths) != 5 {
		t.Errorf("got %d paths, want the four generated and the one by hand", len(paths))
	}
	for _, method := range []string{"post", "delete"} {
		if at(paths, "/v1/manifests", method, "requestBody", "content", "application/yaml") == nil {
			t.Errorf("%s: the manifest is no YAML body", method)
		}
	}
	if text := at(paths, "/v1/things/{name}", "put", "requestBody")["description"]; text != "The manifest of the one object that the path names, as it stands." {
		t.Errorf("the body of one thing's path: got %q", text)
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
	schemas := at(document, "components", "schemas")
	if _, ok := schemas["google.api.HttpBody"]; ok || schemas["Thing"] == nil {
		t.Errorf("schemas: got %v, want Thing and no HttpBody", slices.Sorted(maps.Keys(schemas)))
	}
}

func TestTheDocumentTellsWhatMayStandInAManifest(t *testing.T) {
	schemas := at(assembled(t), "components", "schemas")
	const core = "io.k8s.api.core.v1."
	cases := []struct {
		name, schema, field string
		want                object
	}{
		{"an object", "Pod", "spec", object{"$ref": "#/components/schemas/" + core + "PodSpec"}},
		{"a list of objects", "PodSpec", "containers", object{"type": "array", "items": object{"$ref": "#/components/schemas/" + core + "Container"}}},
		{"words", "PodSpec", "restartPolicy", object{"type": "string", "enum": []any{"Always", "OnFailure", "Never"}}},
		{"a list of words", "PersistentVolumeClaimSpec", "accessModes", object{"type": "array", "items": object{
			"type": "string", "enum": []any{"ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"},
		}}},
		{"a field of an inlined struct", "Volume", "hostPath", object{"$ref": "#/components/schemas/" + core + "HostPathVolumeSource"}},
		{"texts by key", "ConfigMap", "data", object{"type": "object", "additionalProperties": object{"type": "string"}}},
		{"bytes by key", "Secret", "data", object{"type": "object", "additionalProperties": object{"type": "string", "format": "byte"}}},
		{"a number or a word", "HTTPGetAction", "port", object{"type": []any{"integer", "string"}}},
		{"quantities", "ResourceRequirements", "limits", object{"type": "object", "additionalProperties": object{"type": "string", "format": "quantity"}}},
	}
	for _, c := range cases {
		got := maps.Clone(at(schemas, core+c.schema, "properties", c.field))
		delete(got, "description")
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s, %s.%s: got %v, want %v", c.name, c.schema, c.field, got, c.want)
		}
	}
	if at(schemas, core+"Pod", "properties")["status"] != nil {
		t.Error("a status is said to be taken")
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
