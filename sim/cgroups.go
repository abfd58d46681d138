package sim

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/limit"
	"nodal/reconciler"
)

// cgroups is an agent at work on the kernel's tree, which outlives it.
type cgroups struct {
	world *world
	store *node.Store
}

var _ reconciler.Cgroups = cgroups{}

func (c cgroups) SetUp(_ context.Context, pod *corev1.Pod, limits limit.Limits) error {
	if !c.store.Holds(pod.UID) {
		c.world.witness.failf("a cgroup was made for %s, uid %s, which is gone", node.KeyOf(pod), pod.UID)
	}
	c.world.cgroups[pod.UID] = limits
	return nil
}

func (c cgroups) TearDown(_ context.Context, uid types.UID) error {
	for _, run := range c.world.containers {
		if run.uid == uid && run.running() {
			c.world.witness.failf("the cgroup of %s was torn down while it ran", run)
		}
	}
	delete(c.world.cgroups, uid)
	return nil
}

func (c cgroups) Sweep(ctx context.Context, keep func(types.UID) bool) error {
	for _, uid := range slices.Sorted(maps.Keys(c.world.cgroups)) {
		if !keep(uid) {
			c.world.trace.addf("agent: sweeps the cgroup of %s", uid)
			if err := c.TearDown(ctx, uid); err != nil {
				return err
			}
		}
	}
	return nil
}

// boundBy checks: what runs in a pod is held to the pod's limits. A call that comes
// late may outlive them.
func (wi *witness) boundBy(w *world, pod *node.Pod, s *sandbox) {
	if _, ok := w.cgroups[pod.UID()]; !ok {
		wi.failf("sandbox %s of %s was made without a cgroup for the pod", s.id, s.key)
	}
}

// held says in what a pod's cgroup is not as it should be.
func (s *simulation) held(l *life) error {
	want := limit.OfPod(l.object, s.agent.site.Limits)
	if got, ok := s.world.cgroups[l.id.uid]; !ok || got != want {
		return fmt.Errorf("its cgroup allows %s, want %s", got, want)
	}
	return nil
}
