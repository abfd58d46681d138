package status

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
)

// conditions derives the pod's conditions, in upstream's order.
func (d *deriver) conditions(s *corev1.PodStatus, initialised bool) []corev1.PodCondition {
	accepted := d.pod.Accepted
	sandbox := d.sandbox()
	toStart := d.condition(corev1.PodReadyToStartContainers, sandbox != nil, accepted)
	if sandbox != nil {
		toStart.LastTransitionTime = metav1.NewTime(sandbox.CreatedAt)
	}
	initCondition := d.condition(corev1.PodInitialized, initialised, d.lastEnd(d.spec.InitContainers))
	if !initialised {
		d.unready(&initCondition, "ContainersNotInitialized", "incomplete", s.InitContainerStatuses)
	}
	containersReady := d.readiness(corev1.ContainersReady, s)
	ready := d.throughGates(containersReady)
	if s.Phase == corev1.PodSucceeded {
		initCondition.Status, initCondition.Reason, initCondition.Message = corev1.ConditionTrue, "PodCompleted", ""
	}
	return append([]corev1.PodCondition{
		toStart, initCondition, ready, containersReady,
		d.condition(corev1.PodScheduled, true, accepted),
	}, append(d.resizing(), d.pod.Conditions...)...)
}

// throughGates is whether the pod is ready: its containers are, and clients have
// opened each of its readiness gates.
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

// vouchedFor is what a client last said of a condition; nil if none has.
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

// readiness is true when every application container runs and is ready.
func (d *deriver) readiness(kind corev1.PodConditionType, s *corev1.PodStatus) corev1.PodCondition {
	ready, since := true, d.pod.Accepted
	for i := range s.ContainerStatuses {
		c := &s.ContainerStatuses[i]
		ready = ready && c.Ready
		if c.State.Running != nil {
			since = later(since, c.State.Running.StartedAt.Time)
		}
	}
	if ready {
		return d.condition(kind, true, later(since, d.lastWord(true)))
	}
	c := d.condition(kind, false, later(d.lastEnd(d.spec.Containers), d.lastWord(false)))
	switch s.Phase {
	case corev1.PodSucceeded:
		c.Reason = "PodCompleted"
	case corev1.PodFailed:
		c.Reason = "PodFailed"
	default:
		d.unready(&c, "ContainersNotReady", "unready", s.ContainerStatuses)
	}
	return c
}

func (d *deriver) unready(c *corev1.PodCondition, reason, word string, statuses []corev1.ContainerStatus) {
	var names []string
	for i := range statuses {
		if !statuses[i].Ready {
			names = append(names, statuses[i].Name)
		}
	}
	c.Reason = reason
	c.Message = fmt.Sprintf("containers with %s status: %v", word, names)
}

// lastWord is when a probe last made an application container ready, or unready,
// that is so still.
func (d *deriver) lastWord(ready bool) time.Time {
	var last time.Time
	for i := range d.spec.Containers {
		c := &d.spec.Containers[i]
		run := d.got.Newest(d.pod.UID(), c.Name)
		if run == nil || run.State != node.ContainerRunning || d.got.Ready(run, c) != ready {
			continue
		}
		if health := d.got.HealthOf(run); ready {
			last = later(last, health.Changed())
		} else {
			last = later(last, health.Since)
		}
	}
	return last
}

// lastEnd is when the latest run of the containers ended; when the pod was
// accepted, if none has.
func (d *deriver) lastEnd(containers []corev1.Container) time.Time {
	end := d.pod.Accepted
	for i := range containers {
		for j := range d.got.Containers {
			run := &d.got.Containers[j]
			if run.UID == d.pod.UID() && run.Name == containers[i].Name && run.State == node.ContainerExited {
				end = later(end, run.FinishedAt)
			}
		}
	}
	return end
}
