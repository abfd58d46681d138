package kube

import (
	"context"

	nodev1 "nodal/api/gen/node/v1"
)

// pods are the pods of the node, wherever they came from.
type pods struct{ clients }

var _ source = pods{}

func (p pods) get(ctx context.Context, namespace, name string) (*object, error) {
	answer, err := p.pods.GetPod(ctx, &nodev1.GetPodRequest{Namespace: namespace, Name: name})
	return objectOf(answer.GetPod().GetObject()), err
}

func (p pods) list(ctx context.Context, of selection) (all []*object, revision int64, err error) {
	answer, err := p.pods.ListPods(ctx, &nodev1.ListPodsRequest{
		Namespace: of.namespace, LabelSelector: of.labels, FieldSelector: of.fields,
	})
	for _, pod := range answer.GetPods() {
		all = append(all, objectOf(pod.GetObject()))
	}
	return all, answer.GetRevision(), err
}

func (p pods) watch(ctx context.Context, of selection, since int64, each func(change) error) error {
	stream, err := p.pods.WatchPods(ctx, &nodev1.WatchPodsRequest{
		Namespace: of.namespace, LabelSelector: of.labels, FieldSelector: of.fields, SinceRevision: since,
	})
	if err != nil {
		return err
	}
	return received(stream, func(m *nodev1.WatchPodsResponse) error {
		return each(change{m.GetType(), m.GetRevision(), objectOf(m.GetPod().GetObject())})
	})
}

func (p pods) remove(ctx context.Context, namespace, name string, how deletion) (*object, error) {
	answer, err := p.pods.DeletePod(ctx, &nodev1.DeletePodRequest{
		Namespace: namespace, Name: name, GracePeriodSeconds: how.grace, Uid: how.uid, UnchangedSince: how.unchanged,
	})
	return objectOf(answer.GetPod().GetObject()), err
}
