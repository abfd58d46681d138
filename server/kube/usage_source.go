package kube

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// nodeUsages is the use of this node.
type nodeUsages struct{ clients }

// podUsages is the use of its pods.
type podUsages struct{ clients }

var _, _ source = nodeUsages{}, podUsages{}

func (u nodeUsages) get(ctx context.Context, _, name string) (*object, error) {
	all, _, err := u.list(ctx, selection{fields: "metadata.name=" + name})
	return only(all, err, "node", name)
}

// only returns the one object of a list.
func only(all []*object, err error, kind, name string) (*object, error) {
	if err != nil {
		return nil, err
	}
	if len(all) != 1 {
		return nil, notFound(kind, name)
	}
	return all[0], nil
}

func (u nodeUsages) list(ctx context.Context, of selection) (all []*object, revision int64, err error) {
	chosen, revision, err := nodes(u).list(ctx, of)
	if err != nil || len(chosen) == 0 {
		return nil, revision, err
	}
	measured, err := u.measure(ctx, "")
	if err != nil {
		return nil, 0, err
	}
	used, known := rateOf(measured.begin.GetNode().GetUsage(), measured.end.GetNode().GetUsage())
	if !known {
		return nil, revision, nil
	}
	made, err := untyped(&nodeUsage{
		TypeMeta:   metav1.TypeMeta{APIVersion: usageVersion.String(), Kind: "NodeMetrics"},
		ObjectMeta: metav1.ObjectMeta{Name: chosen[0].GetName(), Labels: chosen[0].GetLabels(), CreationTimestamp: metav1.NewTime(used.at)},
		Timestamp:  metav1.NewTime(used.at), Window: metav1.Duration{Duration: used.window}, Usage: used.usage,
	})
	return []*object{made}, revision, err
}

func (nodeUsages) watch(context.Context, selection, int64, func(change) error) error {
	return unwatched("figures")
}

func (nodeUsages) remove(_ context.Context, _, name string, _ deletion) (*object, error) {
	return nil, unchangeable("NodeMetrics", name)
}

func (u podUsages) get(ctx context.Context, namespace, name string) (*object, error) {
	all, _, err := u.list(ctx, selection{namespace: namespace, fields: "metadata.name=" + name})
	return only(all, err, "pod", namespace+"/"+name)
}

func (u podUsages) list(ctx context.Context, of selection) (all []*object, revision int64, err error) {
	chosen, revision, err := pods(u).list(ctx, of)
	if err != nil || len(chosen) == 0 {
		return nil, revision, err
	}
	measured, err := u.measure(ctx, of.namespace)
	if err != nil {
		return nil, 0, err
	}
	before, now := measured.before(), map[string]*podUsage{}
	for _, pod := range measured.end.GetPods() {
		if made, known := measured.pod(pod, before); known {
			now[pod.GetUid()] = made
		}
	}
	for _, pod := range chosen {
		usage, known := now[string(pod.GetUID())]
		if !known {
			continue
		}
		usage.ObjectMeta = metav1.ObjectMeta{
			Namespace: pod.GetNamespace(), Name: pod.GetName(), Labels: pod.GetLabels(), CreationTimestamp: usage.Timestamp,
		}
		made, err := untyped(usage)
		if err != nil {
			return nil, 0, err
		}
		all = append(all, made)
	}
	return all, revision, nil
}

func (podUsages) watch(context.Context, selection, int64, func(change) error) error {
	return unwatched("figures")
}

func (podUsages) remove(_ context.Context, _, name string, _ deletion) (*object, error) {
	return nil, unchangeable("PodMetrics", name)
}

var nodeUsageColumns = columns{heads([]string{"Name", "CPU", "Memory", "Window"}), typed(func(u *nodeUsage) []any {
	return append([]any{u.Name}, append(amountsOf(u.Usage), u.Window.Duration.String())...)
})}

var podUsageColumns = columns{heads([]string{"Name", "CPU", "Memory", "Window"}), typed(func(u *podUsage) []any {
	sum := corev1.ResourceList{}
	for _, c := range u.Containers {
		for name, amount := range c.Usage {
			total := sum[name]
			total.Add(amount)
			sum[name] = total
		}
	}
	return append([]any{u.Name}, append(amountsOf(sum), u.Window.Duration.String())...)
})}

func amountsOf(used corev1.ResourceList) []any {
	return []any{used.Cpu().String(), used.Memory().String()}
}
