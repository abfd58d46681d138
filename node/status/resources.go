package status

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resources "k8s.io/component-helpers/resource"

	"nodal/node"
	"nodal/node/limit"
)

// setWholeResources shows the resources of the pod as a whole: those that it is allowed, and those that its cgroup has.
// Containers without a limit leave their pod without one.
func (d *deriver) setWholeResources(s *corev1.PodStatus) {
	requests := resources.PodRequests(d.allowed, resources.PodResourcesOptions{})
	limits := resources.PodLimits(d.allowed, resources.PodResourcesOptions{})
	if len(requests)+len(limits) == 0 {
		return
	}
	has := &corev1.ResourceRequirements{}
	if whole := d.allowed.Spec.Resources; whole != nil {
		has = whole.DeepCopy()
	}
	bound := d.site.LimitsOfPod(d.pod, d.allowed)
	for name, isBound := range map[corev1.ResourceName]bool{corev1.ResourceCPU: bound.CPUQuota > 0, corev1.ResourceMemory: bound.Memory > 0} {
		if amount, ok := requests[name]; ok {
			setAmount(&has.Requests, name, amount)
		}
		if amount, ok := limits[name]; ok && isBound {
			setAmount(&has.Limits, name, amount)
		}
	}
	if part, ok := d.got.Part(node.Cgroup, ""); ok && part.Limits.Amounts() != bound.Amounts() {
		measure(has, part.Limits)
	}
	s.AllocatedResources, s.Resources = requests, has
}

func setAmount(list *corev1.ResourceList, name corev1.ResourceName, amount resource.Quantity) {
	if *list == nil {
		*list = corev1.ResourceList{}
	}
	(*list)[name] = amount
}

// setResources shows the resources that a container is allowed, and those that its run has.
func (d *deriver) setResources(s *corev1.ContainerStatus, run *node.Container) {
	i := slices.IndexFunc(d.allocated, func(c corev1.Container) bool { return c.Name == s.Name })
	if i < 0 { // an ephemeral container, which may have none
		s.Resources = &corev1.ResourceRequirements{}
		return
	}
	c := &d.allocated[i]
	if len(c.Resources.Requests) > 0 {
		s.AllocatedResources = c.Resources.Requests.DeepCopy()
	}
	has := c.Resources.DeepCopy()
	if run.Alive() && run.Limits != nil && d.behind(run, c) {
		measure(has, *run.Limits)
	}
	s.Resources = has
}

// behind reports whether a run has to be given other amounts than it has.
func (d *deriver) behind(run *node.Container, c *corev1.Container) bool {
	allowed := d.site.LimitsOf(d.pod, d.pod.Object, c).Amounts()
	if run.Limits == nil {
		return d.pod.Behind(run, allowed)
	}
	return run.Limits.Amounts() != allowed
}

// measure replaces the wanted resources of a run by the limits that the kernel enforces.
func measure(has *corev1.ResourceRequirements, l limit.Limits) {
	if _, ok := has.Requests[corev1.ResourceCPU]; ok && l.CPUShares > limit.MinCPUShares {
		has.Requests[corev1.ResourceCPU] = *resource.NewMilliQuantity(limit.MilliCPU(l.CPUShares), resource.DecimalSI)
	}
	if _, ok := has.Limits[corev1.ResourceCPU]; ok && l.CPUQuota > 0 {
		has.Limits[corev1.ResourceCPU] = *resource.NewMilliQuantity(l.CPUQuota*1000/l.CPUPeriod, resource.DecimalSI)
	}
	if _, ok := has.Limits[corev1.ResourceMemory]; ok && l.Memory > 0 {
		has.Limits[corev1.ResourceMemory] = *resource.NewQuantity(l.Memory, resource.BinarySI)
	}
}

// Resizing reports whether a pod has not got yet what the node has given it.
func Resizing(site node.Site, slot *node.Slot, got *node.Observed) bool {
	return slot.Result == nil && slices.ContainsFunc(newDeriver(site, slot, got).resizing(), func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodResizeInProgress
	})
}

// resizing returns the conditions of a resize that is not complete.
func (d *deriver) resizing() []corev1.PodCondition {
	var found []corev1.PodCondition
	add := func(kind corev1.PodConditionType, reason, message string) {
		found = append(found, corev1.PodCondition{
			Type: kind, Status: corev1.ConditionTrue, Reason: reason, Message: message,
			LastTransitionTime: metav1.NewTime(d.pod.Resized), ObservedGeneration: d.pod.Object.Generation,
		})
	}
	if r := d.pod.Resize; r != nil {
		add(corev1.PodResizePending, r.Reason, r.Message)
	}
	if d.pod.Resized.IsZero() {
		return found
	}
	for i := range d.allocated {
		c := &d.allocated[i]
		run := d.got.Newest(d.pod.UID(), c.Name)
		if run == nil || !run.Alive() || !d.behind(run, c) {
			continue
		}
		if fault, ok := d.got.Faults[node.ResizeTarget(c.Name)]; ok {
			add(corev1.PodResizeInProgress, corev1.PodReasonError, fault.Message)
		} else {
			add(corev1.PodResizeInProgress, "", "")
		}
		break
	}
	return found
}
