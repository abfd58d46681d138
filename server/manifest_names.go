package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"nodal/node"
)

// named is as much of an object as it takes to delete it.
type named struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"metadata"`
	Items []json.RawMessage `json:"items"`
}

// namesIn returns the keys of the pods in a bundle and looks at nothing else
// in it.
func namesIn(text string) ([]node.Key, error) {
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	var keys []node.Key
	for i := 0; ; i++ {
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, unnamed(i, "", err.Error())
		}
		if len(raw) == 0 || string(raw) == "null" {
			continue
		}
		if keys, err = appendNames(keys, i, raw); err != nil {
			return nil, err
		}
	}
	if len(keys) == 0 {
		return nil, unnamed(0, "", "the bundle names no pod")
	}
	return keys, nil
}

func appendNames(keys []node.Key, document int, raw json.RawMessage) ([]node.Key, error) {
	var object named
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, unnamed(document, "", err.Error())
	}
	switch object.Kind {
	case "List", "PodList":
		var err error
		for _, item := range object.Items {
			if keys, err = appendNames(keys, document, withKind(item, object.Kind)); err != nil {
				return nil, err
			}
		}
		return keys, nil
	case "Pod":
		if object.Metadata.Name == "" {
			return nil, unnamed(document, "metadata.name", "has to name the pod")
		}
		namespace := object.Metadata.Namespace
		if namespace == "" {
			namespace = metav1.NamespaceDefault
		}
		return append(keys, node.Key{Namespace: namespace, Name: object.Metadata.Name}), nil
	}
	return nil, unnamed(document, "kind", fmt.Sprintf("is %q, not Pod, PodList or List", object.Kind))
}

// withKind completes an item of a PodList, which need not say what it is.
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
