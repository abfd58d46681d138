package kube

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

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
	matches, err := namespacesLike(of)
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
		if matches(name) {
			all = append(all, shownNamespace(name, answer.GetRevision()))
		}
	}
	return all, answer.GetRevision(), nil
}

func (namespaces) remove(_ context.Context, _, name string, _ deletion) (*object, error) {
	return nil, unchangeable("Namespace", name)
}
