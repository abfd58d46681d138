package kube

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/server/auth"
)

// objects are objects of one kind that pods use, such as ConfigMaps.
type objects struct {
	clients
	kind node.Kind
}

var _ source = objects{}

func (o objects) get(ctx context.Context, namespace, name string) (*object, error) {
	answer, err := o.objects.GetObject(ctx, &nodev1.GetObjectRequest{Kind: o.kind.Plural, Namespace: namespace, Name: name})
	return o.shown(answer.GetObject()), err
}

func (o objects) list(ctx context.Context, of selection) (all []*object, revision int64, err error) {
	answer, err := o.objects.ListObjects(ctx, &nodev1.ListObjectsRequest{
		Kind: o.kind.Plural, Namespace: of.namespace, LabelSelector: of.labels, FieldSelector: of.fields, Values: o.values(ctx),
	})
	for _, m := range answer.GetObjects() {
		all = append(all, o.shown(m))
	}
	return all, answer.GetRevision(), err
}

func (o objects) watch(ctx context.Context, of selection, since int64, each func(change) error) error {
	stream, err := o.objects.WatchObjects(ctx, &nodev1.WatchObjectsRequest{
		Kinds: []string{o.kind.Plural}, Namespace: of.namespace, LabelSelector: of.labels, FieldSelector: of.fields,
		SinceRevision: since, Values: o.values(ctx),
	})
	if err != nil {
		return err
	}
	return received(stream, func(m *nodev1.WatchObjectsResponse) error {
		return each(change{m.GetType(), m.GetRevision(), o.shown(m.GetObject())})
	})
}

// remove deletes an object and returns it as it was.
func (o objects) remove(ctx context.Context, namespace, name string, how deletion) (*object, error) {
	before, err := o.get(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	if how.uid != "" && how.uid != string(before.GetUID()) {
		return nil, fmt.Errorf("%s %s has the UID %s, not %s: %w", o.kind.Name, name, before.GetUID(), how.uid, node.ErrChanged)
	}
	if err := o.cascade(ctx, namespace, name, how); err != nil || how.propagation != string(metav1.DeletePropagationForeground) {
		return before, err
	}
	if after, err := o.get(ctx, namespace, name); err == nil && after.GetUID() == before.GetUID() {
		return after, nil // it waits for what belongs to it
	}
	return before, nil
}

// shown returns an object with its kind, and with the node's revision of its last change.
func (o objects) shown(m *nodev1.Object) *object {
	made := objectOf(m.GetObject())
	made.SetGroupVersionKind(o.kind.GroupVersionKind())
	if m != nil {
		made.SetResourceVersion(versionOf(m.GetRevision()))
	}
	return made
}

// values reports whether the caller sees what the node hides of the kind.
func (o objects) values(ctx context.Context) bool {
	return o.kind.Hide != nil && auth.Require(ctx, auth.Admin) == nil
}
