package audit

import (
	"cmp"
	"encoding/json"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"nodal/node"
)

// Manifest holds the documents of a manifest, the items of lists one by one.
type Manifest []map[string]any

// ReadManifest reads a manifest that may be wrong: it returns the documents before the first that cannot be read.
func ReadManifest(text string) (m Manifest) {
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		var document map[string]any
		if decoder.Decode(&document) != nil {
			return m
		}
		m.add(document)
	}
}

func (m *Manifest) add(document map[string]any) {
	kind, _ := document["kind"].(string)
	items, listed := document["items"].([]any)
	switch {
	case len(document) == 0:
	case listed && strings.HasSuffix(kind, "List"):
		for _, item := range items {
			if one, ok := item.(map[string]any); ok {
				if one["kind"] == nil {
					one["kind"] = strings.TrimSuffix(kind, "List")
				}
				m.add(one)
			}
		}
	default:
		*m = append(*m, document)
	}
}

// Objects returns the names of the objects.
func (m Manifest) Objects() []Object {
	all := make([]Object, len(m))
	for i, document := range m {
		all[i] = nameOf(document)
	}
	return all
}

func nameOf(document map[string]any) Object {
	var o Object
	o.Kind, _ = document["kind"].(string)
	metadata, _ := document["metadata"].(map[string]any)
	o.Name, _ = metadata["name"].(string)
	o.Namespace, _ = metadata["namespace"].(string)
	if kind, known := node.KindNamed(o.Kind); known && !kind.Namespaced {
		o.Namespace = ""
	} else {
		o.Namespace = cmp.Or(o.Namespace, metav1.NamespaceDefault)
	}
	return o
}

// Redacted returns the documents without values of Secrets. Of a kind that the node does not know it keeps the name
// alone: a Secret whose kind has a typing error is refused, and must not be kept here either.
func (m Manifest) Redacted() json.RawMessage {
	shown := make([]any, len(m))
	for i, document := range m {
		shown[i] = document
		name := nameOf(document)
		kind, known := node.KindNamed(name.Kind)
		if name.Kind != "Pod" && (!known || kind.Hide != nil || string(kind.Name) != name.Kind) {
			shown[i] = name
		}
		if name.Kind == "Pod" { // an item of a PodList counts as one, whatever it holds
			for _, field := range []string{"data", "stringData"} {
				delete(document, field)
			}
		}
	}
	text, err := json.Marshal(shown)
	if err != nil { // values that YAML knows and JSON does not
		text, _ = json.Marshal(m.Objects())
	}
	return text
}
