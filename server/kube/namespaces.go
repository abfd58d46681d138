package kube

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
)

// namespaces are those in which something is, and default. The node keeps no object for them.
type namespaces struct{ clients }

var _ source = namespaces{}

func (n namespaces) get(ctx context.Context, _, name string) (*object, error) {
	all, _, err := n.list(ctx, selection{fields: "metadata.name=" + name})
	if err == nil && len(all) == 0 {
		err = notFound("namespace", name)
	}
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

func (n namespaces) list(ctx context.Context, of selection) (all []*object, revision int64, err error) {
	byLabel, byField, err := selectors(of)
	if err != nil {
		return nil, 0, err
	}
	answer, err := n.pods.ListPods(ctx, &nodev1.ListPodsRequest{})
	if err != nil {
		return nil, 0, err
	}
	names := map[string]bool{corev1.NamespaceDefault: true}
	for _, pod := range answer.GetPods() {
		names[pod.GetNamespace()] = true
	}
	for _, kind := range node.Kinds() {
		if !kind.Namespaced {
			continue
		}
		found, err := n.objects.ListObjects(ctx, &nodev1.ListObjectsRequest{Kind: kind.Plural})
		if err != nil {
			return nil, 0, err
		}
		for _, o := range found.GetObjects() {
			names[o.GetNamespace()] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		set := map[string]string{corev1.LabelMetadataName: name}
		if byLabel.Matches(labels.Set(set)) && byField.Matches(fields.Set{"metadata.name": name}) {
			made := &object{Object: map[string]any{"status": map[string]any{"phase": string(corev1.NamespaceActive)}}}
			made.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
			made.SetName(name)
			made.SetLabels(set)
			all = append(all, made)
		}
	}
	return all, answer.GetRevision(), nil
}

func (namespaces) watch(context.Context, selection, int64, func(change) error) error {
	return unwatched("namespaces")
}

func (namespaces) remove(_ context.Context, _, name string, _ deletion) (*object, error) {
	return nil, unchangeable("Namespace", name)
}
