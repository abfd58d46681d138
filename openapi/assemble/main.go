// Command assemble makes openapi.json from the documents that the generator wrote, one for each service, and the
// hand-written kubelet.yaml. It also writes the document packed.
//
//	go run ./openapi/assemble GENERATED-DIR OVERLAY.yaml OUTPUT.json
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: assemble GENERATED-DIR OVERLAY.yaml OUTPUT.json")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "assemble:", err)
		os.Exit(1)
	}
}

func run(generated, overlay, output string) error {
	document, err := assemble(generated, overlay)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(document); err != nil {
		return fmt.Errorf("encode %s: %w", output, err)
	}
	if err := os.WriteFile(output, text.Bytes(), 0o644); err != nil {
		return err
	}
	return pack(output+".gz", text.Bytes())
}

func pack(output string, text []byte) error {
	var packed bytes.Buffer
	writer, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err == nil {
		_, err = writer.Write(text)
	}
	if err == nil {
		err = writer.Close()
	}
	if err != nil {
		return fmt.Errorf("pack %s: %w", output, err)
	}
	return os.WriteFile(output, packed.Bytes(), 0o644)
}

// object is a JSON object.
type object = map[string]any

func assemble(generated, overlay string) (object, error) {
	text, err := os.ReadFile(overlay)
	if err != nil {
		return nil, err
	}
	document := object{}
	if err := yaml.UnmarshalStrict(text, &document); err != nil {
		return nil, fmt.Errorf("decode %s: %w", overlay, err)
	}
	parts, err := filepath.Glob(filepath.Join(generated, "*", "*", "*.json"))
	if err != nil || len(parts) == 0 {
		return nil, fmt.Errorf("find generated documents in %s: %d found: %w", generated, len(parts), err)
	}
	for _, name := range parts { // sorted by Glob
		part, err := readPart(name)
		if err != nil {
			return nil, err
		}
		merge(document, part, "paths")
		merge(at(document, "components"), at(part, "components"), "schemas")
		tags, _ := document["tags"].([]any)
		more, _ := part["tags"].([]any)
		document["tags"] = append(tags, more...)
	}
	delete(at(document, "components", "schemas"), "google.api.HttpBody")
	manifests(document)
	return document, nil
}

func readPart(name string) (object, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	part := object{}
	if err := json.Unmarshal(text, &part); err != nil {
		return nil, fmt.Errorf("decode %s: %w", name, err)
	}
	for path, methods := range at(part, "paths") {
		for _, operation := range methods.(object) {
			correct(path, operation.(object))
		}
	}
	return part, nil
}

// correct adds to an operation what the generator cannot know.
func correct(path string, operation object) {
	if strings.HasSuffix(path, ":import") {
		tarballBody(operation)
	} else {
		manifestBody(path, operation)
	}
	if failed := at(operation, "responses", "default"); failed != nil {
		failed["description"] = "An error. Each kind has its own HTTP status; details say which fields are wrong."
	}
	ok := at(operation, "responses", "200")
	switch schema, _ := at(ok, "content", "application/json", "schema")["$ref"].(string); {
	case strings.HasSuffix(schema, "/google.api.HttpBody"):
		ok["description"] = "The log as it stands, while it is followed as it is written."
		ok["content"] = object{"text/plain": object{"schema": object{"type": "string"}}}
	case strings.HasSuffix(path, ":import"):
		ok["description"] = "How it goes, one message a line. The last is the result, or an object with an error."
		ok["content"] = object{"application/x-ndjson": object{"schema": object{"$ref": schema}}}
	case strings.HasSuffix(path, ":watch"):
		message := object{"schema": object{"$ref": schema}}
		ok["description"] = "One message a line, or an event with the revision as its id, from which Last-Event-ID resumes."
		ok["content"] = object{"application/x-ndjson": message, "text/event-stream": message}
	}
}

// manifestBody describes a body that is a manifest. The generator makes a JSON string of it, or a query parameter for
// DELETE.
func manifestBody(path string, operation object) {
	body := at(operation, "requestBody", "content", "application/json", "schema")
	parameters, _ := operation["parameters"].([]any)
	inQuery := slices.IndexFunc(parameters, func(p any) bool { return p.(object)["name"] == "manifest" })
	if body["type"] != "string" && inQuery < 0 {
		return
	}
	if inQuery >= 0 {
		operation["parameters"] = slices.Delete(parameters, inQuery, inQuery+1)
	}
	text := "A bundle: YAML or JSON documents, or a List, as they stand. What may be in it are the schemas that have a kind."
	if !strings.HasPrefix(path, "/v1/manifests") {
		text = "The manifest of the one object that the path names, as it stands."
	}
	operation["requestBody"] = object{
		"required": true, "description": text,
		"content": object{
			"application/json": object{"schema": object{"type": "object"}},
			"application/yaml": object{"schema": object{"type": "string"}},
		},
	}
}

// tarballBody describes a body that is a tarball. The generator makes a JSON string of it.
func tarballBody(operation object) {
	operation["requestBody"] = object{
		"required": true, "description": "The tarball as it stands, plain or compressed by gzip or zstd.",
		"content": object{"application/x-tar": object{"schema": object{"type": "string", "format": "binary"}}},
	}
}

// at returns the object at a path, or nil if there is none.
func at(from object, keys ...string) object {
	for _, key := range keys {
		from, _ = from[key].(object)
	}
	return from
}

// merge adds the entries of part[key] to document[key].
func merge(document, part object, key string) {
	into, ok := document[key].(object)
	if !ok {
		into = object{}
		document[key] = into
	}
	for name, entry := range at(part, key) {
		into[name] = entry
	}
}
