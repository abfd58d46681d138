package server

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"nodal/node"
	"nodal/node/store"
	"nodal/server/auth"
)

// selection chooses pods or objects for a list or a watch.
type selection struct {
	namespace string
	sees      func(namespace string) bool // whether the caller may know of a namespace
	labels    labels.Selector
	fields    fields.Selector
}

// objectFields and podFields are the fields that a selector may name.
var (
	objectFields = []string{"metadata.name", "metadata.namespace", "metadata.uid"}
	podFields    = append(slices.Clip(objectFields), "spec.nodeName", "spec.restartPolicy", "status.phase")
)

// newSelection returns what a caller chooses, among what it sees.
func newSelection(
	ctx context.Context, namespace, labelSelector, fieldSelector string, selectable []string,
) (selection, error) {
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
			return selection{}, fmt.Errorf("field selector %q: field %q is none of %v: %w", fieldSelector, r.Field, selectable,
				node.ErrInvalid)
		}
	}
	sees := func(namespace string) bool { return auth.Sees(ctx, namespace) }
	return selection{namespace: namespace, sees: sees, labels: byLabel, fields: byField}, nil
}

// within reports whether a namespace is chosen.
func (s selection) within(namespace string) bool {
	return (s.namespace == "" || s.namespace == namespace) && s.sees(namespace)
}

// mayHaveMatched judges by namespace and name, which never change.
func (s selection) mayHaveMatched(ref node.ObjectRef) bool {
	within, bound := s.fields.RequiresExactMatch("metadata.namespace")
	name, named := s.fields.RequiresExactMatch("metadata.name")
	return s.within(ref.Namespace) &&
		(!bound || within == ref.Namespace) && (!named || name == ref.Name)
}

func (s selection) matchesObject(o *node.Object) bool {
	meta := o.Meta()
	return s.within(meta.Namespace) && s.labels.Matches(labels.Set(meta.Labels)) &&
		s.fields.Matches(fields.Set{
			"metadata.name": meta.Name, "metadata.namespace": meta.Namespace, "metadata.uid": string(meta.UID),
		})
}

// matches derives the status only if the selection asks for it: that is the costly part.
func (s selection) matches(v store.View, phase func(store.View) corev1.PodPhase) bool {
	object := v.Slot.Pod.Object
	if !s.within(v.Key.Namespace) || !s.labels.Matches(labels.Set(object.Labels)) {
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
