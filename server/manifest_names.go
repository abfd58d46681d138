package server

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"nodal/node"
	"nodal/node/manifest"
)

// named holds the fields that identify an object.
type named struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"metadata"`
	Items []json.RawMessage `json:"items"`
}

// names holds the pods and objects that a bundle names.
type names struct {
	pods    []node.Key
	objects []node.ObjectRef
}

// all returns the pods and the objects.
func (n names) all() []node.ObjectRef {
	all := slices.Clone(n.objects)
	for _, key := range n.pods {
		all = append(all, podRef(key))
	}
	return all
}

// namesIn reads the names in a bundle, and checks nothing else of it.
func namesIn(text string) (names, error) {
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	var found names
	for i := 0; ; i++ {
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return names{}, unnamed(i, "", err.Error()+manifest.LineHint([]byte(text)))
		}
		if len(raw) == 0 || string(raw) == "null" {
			continue
		}
		if err := found.add(i, raw); err != nil {
			return names{}, err
		}
	}
	if len(found.pods)+len(found.objects) == 0 {
		return names{}, unnamed(0, "", "the bundle names nothing; "+howToSend+manifest.LineHint([]byte(text)))
	}
	return found, nil
}

func (n *names) add(document int, raw json.RawMessage) error {
	var object named
	if err := json.Unmarshal(raw, &object); err != nil {
		return unnamed(document, "", err.Error())
	}
	name, namespace := object.Metadata.Name, cmp.Or(object.Metadata.Namespace, metav1.NamespaceDefault)
	kind := node.ObjectKind(object.Kind)
	switch {
	case object.Kind == "List" || object.Kind == "PodList":
		for _, item := range object.Items {
			if err := n.add(document, withKind(item, object.Kind)); err != nil {
				return err
			}
		}
		return nil
	case object.Kind == "Pod":
		n.pods = append(n.pods, node.Key{Namespace: namespace, Name: name})
	case !manifest.Takes(kind):
		return unnamed(document, "kind", fmt.Sprintf("is %q, but a node takes %s", object.Kind, manifest.Kinds()))
	case kind.Namespaced():
		n.objects = append(n.objects, node.ObjectRef{Kind: kind, Namespace: namespace, Name: name})
	default:
		n.objects = append(n.objects, node.ObjectRef{Kind: kind, Name: name})
	}
	if name == "" {
		return unnamed(document, "metadata.name", "has to name the "+object.Kind)
	}
	return nil
}

// withKind adds the kind to an item of a PodList, where it may be missing.
func withKind(item json.RawMessage, list string) json.RawMessage {
	var fields map[string]json.RawMessage
	if list != "PodList" || json.Unmarshal(item, &fields) != nil || fields["kind"] != nil {
		return item
	}
	fields["kind"] = json.RawMessage(`"Pod"`)
	completed, err := json.Marshal(fields)
	if err != nil {
		return item
	}
	return completed
}

func unnamed(document int, field, rule string) error {
	return &node.InvalidError{Violations: []node.Violation{{Document: document, Field: field, Rule: rule}}}
}
