package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
	"nodal/node/life"
)

// conditions derives the pod's conditions, in upstream's order.
func (d *deriver) conditions(s *corev1.PodStatus, initialised bool) []corev1.PodCondition {
	containersReady := d.containersReady(s)
	return append([]corev1.PodCondition{
		d.readyToStart(s), d.initialised(s, initialised), d.throughGates(containersReady), containersReady,
		d.condition(corev1.PodScheduled, true, d.pod.Begun()),
	}, slices.Concat(d.startingOver(), d.resizing(), d.disrupted(s), d.pod.Conditions)...)
}

// disrupted returns the condition of a pod that has ended for another one, because the node ran short, or because the
// machine shuts down. A pod that exceeded its own limits has none.
func (d *deriver) disrupted(s *corev1.PodStatus) []corev1.PodCondition {
	t := d.slot.Termination
	if t == nil || t.Reason != node.Preempting && t.Signal == "" && !t.ForShutdown() || s.Phase != corev1.PodFailed {
		return nil
	}
	c := d.condition(corev1.DisruptionTarget, true, t.Requested)
	c.Reason, c.Message = corev1.PodReasonTerminationByKubelet, t.Message
	if t.Reason == node.Preempting {
		c.Message = "Pod was preempted by Kubelet to accommodate a critical pod."
	}
	return []corev1.PodCondition{c}
}

// readyToStart is true while the pod has a sandbox with a network, until it has ended and needs
// none. When a sandbox died is unknown: after its start, and about when its containers ended.
func (d *deriver) readyToStart(s *corev1.PodStatus) corev1.PodCondition {
	ended := s.Phase == corev1.PodSucceeded || s.Phase == corev1.PodFailed
	if sandbox := d.life.Sandbox; sandbox != nil && !ended {
		return d.condition(corev1.PodReadyToStartContainers, true, sandbox.CreatedAt)
	}
	since := d.lastEnd(func(*corev1.Container) bool { return true })
	if last := d.got.NewestSandbox(d.pod.UID()); last != nil {
		since = later(since, last.CreatedAt)
	}
	return d.condition(corev1.PodReadyToStartContainers, false, since)
}

// initialised is true once the application may begin, and stays so.
func (d *deriver) initialised(s *corev1.PodStatus, now bool) corev1.PodCondition {
	holds := now || d.wasInitialised()
	c := d.condition(corev1.PodInitialized, holds, d.initialisedSince())
	switch {
	case s.Phase == corev1.PodSucceeded:
		c.Status, c.Reason = corev1.ConditionTrue, "PodCompleted"
	case !holds:
		names := d.names(s.InitContainerStatuses, func(c *corev1.ContainerStatus, sidecar bool) bool {
			return sidecar && !*c.Started || !sidecar && !c.Ready
		})
		c.Reason = "ContainersNotInitialized"
		c.Message = fmt.Sprintf("containers with incomplete status: %v", names)
	}
	return c
}

// throughGates derives whether the pod is ready: its containers are, and clients have opened each
// of its readiness gates.
func (d *deriver) throughGates(containersReady corev1.PodCondition) corev1.PodCondition {
	ready := containersReady
	ready.Type = corev1.PodReady
	if ready.Status != corev1.ConditionTrue {
		return ready
	}
	var shut []string
	for _, gate := range d.spec.ReadinessGates {
		c := vouchedFor(d.pod, gate.ConditionType)
		switch {
		case c == nil:
			shut = append(shut, fmt.Sprintf("corresponding condition of pod readiness gate %q does not exist.", gate.ConditionType))
			continue
		case c.Status != corev1.ConditionTrue:
			shut = append(shut, fmt.Sprintf("the status of pod readiness gate %q is not \"True\", but %s", gate.ConditionType, c.Status))
		}
		ready.LastTransitionTime.Time = later(ready.LastTransitionTime.Time, c.LastTransitionTime.Time)
	}
	if len(shut) > 0 {
		ready.Status, ready.Reason, ready.Message = corev1.ConditionFalse, "ReadinessGatesNotReady", strings.Join(shut, ", ")
	}
	return ready
}

// vouchedFor returns a client's last word on a condition, or nil.
func vouchedFor(pod *node.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Conditions {
		if pod.Conditions[i].Type == kind {
			return &pod.Conditions[i]
		}
	}
	return nil
}

func (d *deriver) condition(kind corev1.PodConditionType, holds bool, since time.Time) corev1.PodCondition {
	c := corev1.PodCondition{
		Type: kind, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(since),
		ObservedGeneration: d.pod.Object.Generation,
	}
	if holds {
		c.Status = corev1.ConditionTrue
	}
	return c
}

// containersReady is true when every sidecar and application container is ready.
func (d *deriver) containersReady(s *corev1.PodStatus) corev1.PodCondition {
	unready := d.names(slices.Concat(s.InitContainerStatuses, s.ContainerStatuses), func(c *corev1.ContainerStatus, sidecar bool) bool {
		return !c.Ready && (sidecar || node.InitContainer(d.spec, c.Name) == nil)
	})
	if len(unready) == 0 {
		return d.condition(corev1.ContainersReady, true, later(d.pod.Begun(), d.lastReady()))
	}
	c := d.condition(corev1.ContainersReady, false, d.lastUnready())
	switch s.Phase {
	case corev1.PodSucceeded:
		c.Reason = "PodCompleted"
	case corev1.PodFailed:
		c.Reason = "PodFailed"
	default:
		c.Reason = "ContainersNotReady"
		c.Message = fmt.Sprintf("containers with unready status: %v", unready)
	}
	return c
}

// names lists the containers that a test picks.
func (d *deriver) names(statuses []corev1.ContainerStatus, pick func(c *corev1.ContainerStatus, sidecar bool) bool) []string {
	var names []string
	for i := range statuses {
		c := node.InitContainer(d.spec, statuses[i].Name)
		if pick(&statuses[i], c != nil && node.IsSidecar(c)) {
			names = append(names, statuses[i].Name)
		}
	}
	return names
}

// lastReady returns when the last of the sidecars and application containers that are ready became
// so.
func (d *deriver) lastReady() time.Time {
	var last time.Time
	for c := range node.LastingContainers(d.spec) {
		if d.life.Ready(c) {
			run := d.life.Run(c.Name)
			last = later(last, later(run.StartedAt, d.got.HealthOf(run).Changed()))
		}
	}
	return last
}

// lastUnready returns when the last of them ended or was found unready, or when the pod was
// accepted if one has never been ready. That others became ready since moves the time too: it would
// go back when one comes and goes while another is down.
func (d *deriver) lastUnready() time.Time {
	last := d.lastEnd(func(c *corev1.Container) bool { return !d.life.RunsOnce(c) })
	for c := range node.LastingContainers(d.spec) {
		if !d.wasReady(c) {
			return d.pod.Begun()
		}
		if run := d.life.Run(c.Name); run != nil && run.State == node.ContainerRunning && !d.life.Ready(c) {
			last = later(last, d.got.HealthOf(run).Since)
		}
	}
	return later(last, d.lastReady())
}

// wasReady reports whether a container is ready, or may have been. After the pod has started over,
// its first run may have a later number.
func (d *deriver) wasReady(c *corev1.Container) bool {
	run := d.life.Ran(c.Name)
	if d.slot.Tallies[c.Name].Restarts > 0 || d.life.Ready(c) {
		return true
	}
	return run != nil && (run.Attempt > 0 || run.State == node.ContainerExited || !d.got.HealthOf(run).Since.IsZero())
}

// initialisedSince returns when the last init container ended, or the last sidecar first started.
// With another sandbox that starts over.
func (d *deriver) initialisedSince() time.Time {
	since := d.lastEnd(d.life.RunsOnce)
	if s := d.got.NewestSandbox(d.pod.UID()); s != nil && s.Attempt > 0 && len(d.spec.InitContainers) > 0 {
		since = later(since, s.CreatedAt)
	}
	for i := range d.spec.InitContainers {
		if c := &d.spec.InitContainers[i]; node.IsSidecar(c) {
			since = later(since, d.life.FirstStarted(c))
		}
	}
	return since
}

// runs returns the runs of a container, lost ones last.
func (d *deriver) runs(name string) []*node.Container {
	var runs []*node.Container
	for i := range d.got.Containers {
		if run := &d.got.Containers[i]; run.UID == d.pod.UID() && run.Name == name {
			runs = append(runs, run)
		}
	}
	for i := range d.got.Lost {
		if run := &d.got.Lost[i]; run.UID == d.pod.UID() && run.Name == name {
			runs = append(runs, run)
		}
	}
	return runs
}

// lastEnd returns when the latest run of the picked containers ended, or when the pod was
// accepted if none has.
func (d *deriver) lastEnd(pick func(*corev1.Container) bool) time.Time {
	end := d.pod.Begun()
	for c := range d.life.Containers() {
		for _, run := range d.runs(c.Name) {
			if pick(c) && life.Known(run) {
				end = later(end, run.FinishedAt)
			}
		}
	}
	return end
}
