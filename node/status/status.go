package status

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
	"nodal/node/life"
	"nodal/node/limit"
)

// Of derives the status of the pod that owns the slot.
func Of(site node.Site, slot *node.Slot, got *node.Observed) corev1.PodStatus {
	if slot.Result != nil {
		return final(slot)
	}
	d := newDeriver(site, slot, got)
	s := begun(slot.Pod)
	d.setWholeResources(&s)
	d.addresses(&s)
	d.containers(&s)
	initialised := d.life.Initialised()
	s.Phase = d.holdPhase(&s, d.phase(&s, initialised))
	s.Conditions = d.conditions(&s, initialised)
	d.explain(&s)
	shorten(&s)
	return s
}

// begun returns the status of a pod at the moment when it began.
func begun(pod *node.Pod) corev1.PodStatus {
	start := metav1.NewTime(pod.Begun())
	return corev1.PodStatus{ObservedGeneration: pod.Object.Generation, StartTime: &start, QOSClass: limit.Class(pod.Object)}
}

// final returns a status that never changes again. The status of a refused pod holds nothing but
// the reason.
func final(slot *node.Slot) corev1.PodStatus {
	s := *slot.Result.DeepCopy()
	if slot.Pod.Refused != nil {
		start := begun(slot.Pod)
		s.ObservedGeneration, s.StartTime, s.QOSClass = start.ObservedGeneration, start.StartTime, start.QOSClass
	}
	return s
}

// deriver carries what the parts of one status have in common.
type deriver struct {
	site node.Site
	slot *node.Slot
	pod  *node.Pod
	spec *corev1.PodSpec
	got  *node.Observed
	life *life.Life

	allowed   *corev1.Pod        // with the resources that the node has given it
	allocated []corev1.Container // of that
}

func newDeriver(site node.Site, slot *node.Slot, got *node.Observed) *deriver {
	if got == nil {
		got = &node.Observed{}
	}
	allowed := slot.Pod.Allocated()
	return &deriver{
		site: site, slot: slot, pod: slot.Pod, spec: &slot.Pod.Object.Spec, got: got, life: life.Of(slot, got),
		allowed: allowed, allocated: slices.Concat(allowed.Spec.InitContainers, allowed.Spec.Containers),
	}
}

// containers derives the statuses of all containers, each in the list of its kind.
func (d *deriver) containers(s *corev1.PodStatus) {
	for i := range d.spec.InitContainers {
		s.InitContainerStatuses = append(s.InitContainerStatuses, d.container(&d.spec.InitContainers[i]))
	}
	for i := range d.spec.Containers {
		s.ContainerStatuses = append(s.ContainerStatuses, d.container(&d.spec.Containers[i]))
	}
	for c := range node.EphemeralContainers(d.spec) {
		s.EphemeralContainerStatuses = append(s.EphemeralContainerStatuses, d.ephemeral(c))
	}
}

func (d *deriver) addresses(s *corev1.PodStatus) {
	for _, ip := range d.site.HostIPs {
		s.HostIPs = append(s.HostIPs, corev1.HostIP{IP: ip})
	}
	if len(d.site.HostIPs) > 0 {
		s.HostIP = d.site.HostIPs[0]
	}
	sandbox := d.life.Sandbox
	if sandbox == nil {
		return
	}
	ips := sandbox.IPs
	if d.spec.HostNetwork {
		ips = d.site.HostIPs
	}
	for _, ip := range ips {
		s.PodIPs = append(s.PodIPs, corev1.PodIP{IP: ip})
	}
	if len(ips) > 0 {
		s.PodIP = ips[0]
	}
}

// explain puts the most telling reason in front for pods that are not well.
func (d *deriver) explain(s *corev1.PodStatus) {
	if t := d.slot.Termination; t != nil {
		if s.Phase == corev1.PodFailed { // until then something of it runs
			s.Reason, s.Message = t.Reason, t.Message
		}
		return
	}
	if n := len(d.pod.Awaits); n > 0 && s.Phase == corev1.PodPending {
		s.Reason, s.Message = reasonRoom, fmt.Sprintf("it waits for the end of pods that make room for it: %d", n)
		return
	}
	if len(d.got.Behind) > 0 && s.Phase == corev1.PodPending {
		s.Reason, s.Message = node.WaitingForPods, "it starts after "+node.Await(d.got.Behind)
		return
	}
	for _, target := range []string{node.CgroupTarget(), node.ClaimsTarget(), node.SandboxTarget()} {
		if fault, ok := d.got.Faults[target]; ok {
			s.Reason, s.Message = fault.Reason, fault.Message
			return
		}
	}
	if fault, ok := d.volumeFault(); ok && s.Phase == corev1.PodPending {
		s.Reason, s.Message = fault.Reason, fault.Message
	}
}

// phase follows Kubernetes' rules: what counts is which containers wait, run
// or have stopped, and whether they will be started again. A sidecar that runs
// keeps its pod running; one that has stopped does not count.
func (d *deriver) phase(s *corev1.PodStatus, initialised bool) corev1.PodPhase {
	if (d.slot.Termination != nil || d.life.Failed()) && !anyRuns(s) {
		return corev1.PodFailed
	}
	waiting, failed := false, false
	for i := range s.ContainerStatuses {
		t := ended(&s.ContainerStatuses[i])
		waiting = waiting || t == nil && s.ContainerStatuses[i].State.Running == nil
		failed = failed || t != nil && t.ExitCode != 0
	}
	switch {
	case !initialised || waiting:
		return corev1.PodPending
	case anyRuns(s) || !d.life.Over():
		return corev1.PodRunning
	case failed:
		return corev1.PodFailed
	}
	return corev1.PodSucceeded
}

// holdPhase keeps a phase from being final while drivers have prepared devices for the pod. A cluster gives the devices of
// a final pod to others.
func (d *deriver) holdPhase(s *corev1.PodStatus, phase corev1.PodPhase) corev1.PodPhase {
	if phase != corev1.PodSucceeded && phase != corev1.PodFailed || !d.pod.HoldsClaims() {
		return phase
	}
	for i := range s.ContainerStatuses {
		if ended(&s.ContainerStatuses[i]) != nil {
			return corev1.PodRunning
		}
	}
	return corev1.PodPending
}

// anyRuns reports whether a container of any kind runs.
func anyRuns(s *corev1.PodStatus) bool {
	runs := func(c corev1.ContainerStatus) bool { return c.State.Running != nil }
	return slices.ContainsFunc(s.InitContainerStatuses, runs) || slices.ContainsFunc(s.ContainerStatuses, runs)
}

// ended returns the end of the container's newest run, or nil while it runs or before its first
// run.
func ended(c *corev1.ContainerStatus) *corev1.ContainerStateTerminated {
	if c.State.Terminated != nil || c.State.Waiting == nil {
		return c.State.Terminated
	}
	return c.LastTerminationState.Terminated
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
