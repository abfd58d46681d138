package server

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"nodal/node"
	"nodal/node/store"
)

// selection says which pods a list or a watch is about.
type selection struct {
	namespace string
	labels    labels.Selector
	fields    fields.Selector
}

// selectable are the fields that a field selector may name.
var selectable = []string{
	"metadata.name", "metadata.namespace", "metadata.uid",
	"spec.nodeName", "spec.restartPolicy", "status.phase",
}

func newSelection(namespace, labelSelector, fieldSelector string) (selection, error) {
	byLabel, err := labels.Parse(labelSelector)
	if err != nil {
		return selection{}, fmt.Errorf("parse label selector %q: %w: %w", labelSelector, err, node.ErrInvalid)
	}
	byField, err := fields.ParseSelector(fieldSelector)
	if err != nil {
		return selection{}, fmt.Errorf("parse field selector %q: %w: %w", fieldSelector, err, node.ErrInvalid)
	}
	for _, r := range byField.Requirements() {
		if !slices.Contains(selectable, r.Field) {
			return selection{}, fmt.Errorf("field selector %q: field %q is none of %v: %w", fieldSelector, r.Field, selectable, node.ErrInvalid)
		}
	}
	return selection{namespace: namespace, labels: byLabel, fields: byField}, nil
}

// mayHaveMatched is about what never changes of a pod.
func (s selection) mayHaveMatched(k node.Key) bool {
	within, bound := s.fields.RequiresExactMatch("metadata.namespace")
	name, named := s.fields.RequiresExactMatch("metadata.name")
	return (s.namespace == "" || s.namespace == k.Namespace) && (!bound || within == k.Namespace) && (!named || name == k.Name)
}

// matches looks at the status only if the selection does: deriving it is the
// dear part.
func (s selection) matches(v store.View, phase func(store.View) corev1.PodPhase) bool {
	object := v.Slot.Pod.Object
	if s.namespace != "" && s.namespace != v.Key.Namespace || !s.labels.Matches(labels.Set(object.Labels)) {
		return false
	}
	if s.fields.Empty() {
		return true
	}
	set := fields.Set{
		"metadata.name": object.Name, "metadata.namespace": object.Namespace, "metadata.uid": string(object.UID),
		"spec.nodeName": object.Spec.NodeName, "spec.restartPolicy": string(object.Spec.RestartPolicy),
	}
	if slices.ContainsFunc(s.fields.Requirements(), func(r fields.Requirement) bool { return r.Field == "status.phase" }) {
		set["status.phase"] = string(phase(v))
	}
	return s.fields.Matches(set)
}
