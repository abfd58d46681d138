package sim

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/admit"
	"nodal/node/limit"
	"nodal/node/offer"
	"nodal/node/store"
	"nodal/reconciler"
)

// cgroups is an agent's access to the kernel's tree, which outlives the agent.
type cgroups struct {
	world *world
	store *store.Store
}

var _ reconciler.Cgroups = cgroups{}

func (c cgroups) SetUp(_ context.Context, pod *corev1.Pod, limits limit.Limits) error {
	if !c.store.Holds(pod.UID) {
		c.world.witness.failf("a cgroup was made for %s, uid %s, which is gone", node.KeyOf(pod), pod.UID)
	}
	for _, run := range c.world.containers {
		if run.uid == pod.UID && run.running() && !limits.Cover(run.limits) {
			return refused(node.FailedCreateCgroup, "the kernel: %s has more than %s", run, limits)
		}
	}
	c.world.cgroups[pod.UID] = limits
	if limits.MemoryLow+limits.MemoryMin > 0 {
		c.world.met.addf("the kernel keeps memory")
	}
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
	return sweep(c.world, "cgroup", c.world.cgroups, keep, func(uid types.UID) error { return c.TearDown(ctx, uid) })
}

// Garbage finds none: this world is not asked for it.
func (cgroups) Garbage(context.Context, func(types.UID) bool) ([]node.Garbage, error) {
	return nil, nil
}

// boundBy checks that a pod's containers run under its limits. A call that comes late may outlive
// them.
func (wi *witness) boundBy(w *world, pod *node.Pod, s *sandbox) {
	if _, ok := w.cgroups[pod.UID()]; !ok {
		wi.failf("sandbox %s of %s was made without a cgroup for the pod", s.id, s.key)
	}
}

// resizes reports whether an action changes a container's limits. No look shows its effect, so it
// must have none once its caller gave up.
func resizes(a node.Action) bool {
	_, ok := a.(node.ResizeContainer)
	return ok
}

// held returns an error if the kernel does not hold a pod to its limits.
func (s *simulation) held(pod *node.Pod) error {
	site, object := s.agent.loop.Site, pod.Allocated()
	want := site.LimitsOfPod(pod, object)
	if got, ok := s.world.cgroups[pod.UID()]; !ok || got != want {
		return fmt.Errorf("its cgroup allows %s, want %s", got, want)
	}
	for _, c := range s.world.containers {
		if c.uid != pod.UID() || !c.running() {
			continue
		}
		if want := site.LimitsOf(pod, object, specOf(object, c.name)); c.limits != want {
			return fmt.Errorf("%s has %s, want %s", c, c.limits, want)
		}
	}
	if pod.Resize != nil && s.clients.room(s.agent, pod) {
		return fmt.Errorf("it waits for resources that the node has: %s", pod.Resize.Message)
	}
	return nil
}

// room reports whether the node could give a pod what it asks for.
func (c *clients) room(a *agent, pod *node.Pod) bool {
	var others []*corev1.Pod
	views, _ := a.store.Views()
	for _, v := range views {
		if v.Key != pod.Key() && v.Slot.Result == nil {
			others = append(others, v.Slot.Pod.Allocated())
		}
	}
	return c.world.offer.Resize(pod.Object, others) == nil
}

func (w *world) offers() offer.Offer { return w.gadgets.offered(w.offer) }

// offered returns the offer of a simulated node: two CPUs and rules to assign them. Pods may ask
// for more than it has.
func offered() offer.Offer {
	return offer.Offer{
		Node:   admit.Node{Name: "sim", Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}},
		Assign: rules(),
	}
}

// sizing gives some of a pod's containers requests and limits.
func (c *clients) sizing(pod *corev1.Pod) {
	for i := range pod.Spec.Containers {
		spec := &pod.Spec.Containers[i]
		if c.pick(2) == 0 {
			spec.ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceCPU, RestartPolicy: corev1.RestartContainer}}
		}
		c.amount(spec)
	}
}

// remembering has a container ask for memory, where the kernel may keep it.
func (c *clients) remembering(spec *corev1.Container, millis int64) {
	if c.world.guarded {
		spec.Resources.Requests[corev1.ResourceMemory] = *resource.NewQuantity(millis<<20, resource.BinarySI)
		spec.Resources.Limits[corev1.ResourceMemory] = *resource.NewQuantity(millis<<21, resource.BinarySI)
	}
}

func (c *clients) amount(spec *corev1.Container) {
	request := int64(1+c.pick(8)) * 100
	spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(request, resource.DecimalSI)}
	spec.Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(2*request, resource.DecimalSI)}
	c.remembering(spec, request)
}
