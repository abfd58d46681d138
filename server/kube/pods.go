package kube

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
)

// pods are the pods of the node, wherever they came from.
type pods struct{ clients }

var _ source = pods{}

func (p pods) get(ctx context.Context, namespace, name string) (*object, error) {
	answer, err := p.pods.GetPod(ctx, &nodev1.GetPodRequest{Namespace: namespace, Name: name})
	return shownPod(answer.GetPod()), err
}

func (p pods) list(ctx context.Context, of selection) (all []*object, revision int64, err error) {
	answer, err := p.pods.ListPods(ctx, &nodev1.ListPodsRequest{
		Namespace: of.namespace, LabelSelector: of.labels, FieldSelector: of.fields,
	})
	for _, pod := range answer.GetPods() {
		all = append(all, shownPod(pod))
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
		return each(change{m.GetType(), m.GetRevision(), shownPod(m.GetPod())})
	})
}

func (p pods) remove(ctx context.Context, namespace, name string, how deletion) (*object, error) {
	answer, err := p.pods.DeletePod(ctx, &nodev1.DeletePodRequest{
		Namespace: namespace, Name: name, GracePeriodSeconds: how.grace, Uid: how.uid, UnchangedSince: how.unchanged,
	})
	return shownPod(answer.GetPod()), err
}

// shownPod returns a pod for clients of Kubernetes. One of a file or a URL is marked as it is in a cluster, so that kubectl drain
// leaves it alone.
func shownPod(p *nodev1.Pod) *object {
	shown := objectOf(p.GetObject())
	if from := node.Source(p.GetSource()); from == node.SourceFile || from == node.SourceURL {
		marks := shown.GetAnnotations()
		if marks == nil {
			marks = map[string]string{}
		}
		marks[corev1.MirrorPodAnnotationKey] = p.GetUid()
		shown.SetAnnotations(marks)
	}
	return shown
}

// withoutMark returns a pod as its author wrote it: without what shownPod has put there.
func withoutMark(pod *object) *object {
	marks := pod.GetAnnotations()
	if mark := marks[corev1.MirrorPodAnnotationKey]; mark == "" || mark != string(pod.GetUID()) {
		return pod
	}
	plain := pod.DeepCopy()
	delete(marks, corev1.MirrorPodAnnotationKey)
	plain.SetAnnotations(marks)
	return plain
}
