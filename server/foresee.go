package server

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resources "k8s.io/component-helpers/resource"

	"nodal/node"
	"nodal/node/health"
	"nodal/node/intake"
	"nodal/node/store"
)

// foresight knows whether pods that are planned would bring the node where it evicts others.
type foresight struct {
	vitals  Vitals  // nil if the node's state is not known
	ranking Ranking // nil if no pod is ever evicted
	running func(node.Key) (*corev1.Pod, bool)
}

// warn adds a warning to the outcome of each pod with whose requests the node would cross a threshold. Pods count in
// the order of the plan, and a running pod by what it requests beyond what it did.
func (f foresight) warn(ctx context.Context, deliveries []intake.Delivery, outcomes []intake.Outcome) {
	if f.vitals == nil || f.ranking == nil {
		return
	}
	pressure, more := f.vitals.Pressure(ctx), corev1.ResourceList{}
	warned := map[string]bool{} // by signal: the first pod beyond a threshold is enough
	for i, o := range outcomes {
		if deliveries[i].Pod == nil || o.Verdict == intake.Unchanged {
			continue
		}
		f.add(more, deliveries[i].Pod)
		for _, c := range pressure.With(more) {
			if !warned[c.Signal.Name] {
				warned[c.Signal.Name] = true
				outcomes[i].Warnings = append(slices.Clip(outcomes[i].Warnings), f.warning(ctx, c, pressure))
			}
		}
	}
}

// add adds what a pod requests and does not have yet.
func (f foresight) add(more corev1.ResourceList, pod *corev1.Pod) {
	wanted := maps.Clone(resources.PodRequests(pod, resources.PodResourcesOptions{}))
	if runs, ok := f.running(node.KeyOf(pod)); ok {
		for name, has := range resources.PodRequests(runs, resources.PodResourcesOptions{}) {
			if q, ok := wanted[name]; ok {
				q.Sub(has)
				wanted[name] = q
			}
		}
	}
	for name, q := range wanted {
		if q.Sign() > 0 {
			sum := more[name]
			sum.Add(q)
			more[name] = sum
		}
	}
}

func (f foresight) warning(ctx context.Context, c health.Crossing, p health.Pressure) string {
	of := health.Lacks(c.Signal.Name)
	left, whose := health.Amount(of, max(0, c.Signal.Left)), "a pod"
	if _, all, _ := f.ranking(ctx, c.Signal.Name, p); len(all) > 0 {
		whose = fmt.Sprintf("pod %s (%s) or this one", all[0].Key, all[0].Why)
	}
	return fmt.Sprintf("if the pod uses what it requests, %s falls to %s, below the threshold of %s: the node then evicts %s; request less, or delete another pod first",
		c.Signal.Name, left, health.Amount(of, c.Least), whose)
}

// running returns the pods that have their resources already.
func running(s *store.Store) func(node.Key) (*corev1.Pod, bool) {
	return func(key node.Key) (*corev1.Pod, bool) {
		view, ok := s.View(key)
		if !ok || view.Gone || view.Slot.Closed() {
			return nil, false
		}
		return view.Slot.Pod.Allocated(), true
	}
}
