package kube

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// standing returns the word or two that kubectl has for how a pod is.
func standing(p *corev1.Pod) string {
	word := standingOf(p)
	ended := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
	if p.DeletionTimestamp != nil && !ended {
		return "Terminating"
	}
	return word
}

func standingOf(p *corev1.Pod) string {
	if word, waits := initStanding(p); waits {
		return word
	}
	word, running := string(p.Status.Phase), false
	if p.Status.Reason != "" {
		word = p.Status.Reason
	}
	for _, c := range slices.Backward(p.Status.ContainerStatuses) {
		switch {
		case c.State.Waiting != nil && c.State.Waiting.Reason != "":
			word = c.State.Waiting.Reason
		case c.State.Terminated != nil:
			word = endOf(c.State.Terminated)
		case c.Ready && c.State.Running != nil:
			running = true
		}
	}
	if word != "Completed" || !running {
		return word
	}
	if node.IsReady(&p.Status) {
		return "Running"
	}
	return "NotReady"
}

// initStanding says how far a pod's init containers are, while they keep it from starting.
func initStanding(p *corev1.Pod) (word string, waits bool) {
	for i, c := range p.Status.InitContainerStatuses {
		sidecar := i < len(p.Spec.InitContainers) && node.IsSidecar(&p.Spec.InitContainers[i])
		switch t := c.State.Terminated; {
		case t != nil && t.ExitCode == 0 || sidecar && c.Started != nil && *c.Started:
			continue
		case t != nil:
			return "Init:" + endOf(t), true
		case c.State.Waiting != nil && c.State.Waiting.Reason != "" && c.State.Waiting.Reason != "PodInitializing":
			return "Init:" + c.State.Waiting.Reason, true
		}
		return fmt.Sprintf("Init:%d/%d", i, len(p.Spec.InitContainers)), true
	}
	return "", false
}

func endOf(t *corev1.ContainerStateTerminated) string {
	switch {
	case t.Reason != "":
		return t.Reason
	case t.Signal != 0:
		return fmt.Sprintf("Signal:%d", t.Signal)
	}
	return fmt.Sprintf("ExitCode:%d", t.ExitCode)
}
