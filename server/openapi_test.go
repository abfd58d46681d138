package server

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"nodal/node/manifest"
	"nodal/openapi"
	"nodal/server/kube"
	"nodal/server/kubeletapi"
)

func openAPI(t *testing.T) []byte {
	t.Helper()
	document, err := openapi.Document()
	if err != nil {
		t.Fatal(err)
	}
	return document
}

func TestTheDocumentDescribesExactlyTheRoutedPaths(t *testing.T) {
	var document struct {
		Paths map[string]map[string]struct {
			OperationID string
		}
	}
	if err := json.Unmarshal(openAPI(t), &document); err != nil {
		t.Fatal(err)
	}
	routed := map[string]bool{"GET /": true}
	for _, r := range table(t) {
		method := r.method
		if method == kubeletapi.AnyMethod {
			method = "GET" // stands for all
		}
		routed[method+" "+r.pattern] = true
	}
	known, ids := maps.Clone(routed), map[string]string{}
	for path, methods := range document.Paths {
		for method, operation := range methods {
			name := strings.ToUpper(method) + " " + path
			if !routed[name] {
				t.Errorf("%s is described and not routed", name)
			}
			delete(routed, name)
			if other, ok := ids[operation.OperationID]; ok || operation.OperationID == "" {
				t.Errorf("%s has operation id %q, as has %s", name, operation.OperationID, other)
			}
			ids[operation.OperationID] = name
		}
	}
	for name := range routed {
		if form, twin := strings.CutSuffix(name, "/"); twin && known[form] || kube.Serves(name) {
			continue // the same path in another form, or one of the Kubernetes API, which has its own documents
		}
		t.Errorf("%s is routed and not described", name)
	}
}

func TestTheDocumentDescribesRawBodiesAndStreams(t *testing.T) {
	text := string(openAPI(t))
	for _, want := range []string{"application/yaml", "application/x-ndjson", "text/event-stream", "google.rpc.Status"} {
		if !strings.Contains(text, want) {
			t.Errorf("the document has no %s", want)
		}
	}
	if strings.Contains(text, "HttpBody") {
		t.Error("the document still shows logs as HttpBody")
	}
}

func TestEveryReferenceOfTheDocumentLeadsSomewhere(t *testing.T) {
	var document struct {
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal(openAPI(t), &document); err != nil {
		t.Fatal(err)
	}
	const head = `"$ref": "#/components/schemas/`
	references := strings.Split(string(openAPI(t)), head)[1:]
	if len(references) == 0 {
		t.Fatal("there is no reference at all")
	}
	for _, reference := range references {
		name, _, _ := strings.Cut(reference, `"`)
		if document.Components.Schemas[name] == nil {
			t.Errorf("there is no schema %s", name)
		}
	}
}

func TestTheDocumentListsEveryKindOfObject(t *testing.T) {
	var document struct {
		Components struct {
			Schemas map[string]struct {
				Kinds []struct{ Kind string } `json:"x-kubernetes-group-version-kind"`
			}
		}
	}
	if err := json.Unmarshal(openAPI(t), &document); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, schema := range document.Components.Schemas {
		for _, is := range schema.Kinds {
			got = append(got, is.Kind)
		}
	}
	singles, _, _ := strings.Cut(manifest.Kinds(), ", PodList")
	want := strings.Split(singles, ", ")
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got schemas of %q, want those of %q", got, want)
	}
}
