package member

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// statusFor is the node's status of a pod as the cluster is to have it: what is
// not the node's to say stays as it is there.
func statusFor(want *corev1.Pod, have *local) corev1.PodStatus {
	status := *have.object.Status.DeepCopy()
	status.Conditions = slices.DeleteFunc(status.Conditions, func(c corev1.PodCondition) bool { return !node.OwnCondition(c.Type) })
	for _, c := range want.Status.Conditions {
		if !node.OwnCondition(c.Type) {
			status.Conditions = append(status.Conditions, c)
		}
	}
	// Each side counts generations by itself.
	status.ObservedGeneration = want.Generation
	for i := range status.Conditions {
		if node.OwnCondition(status.Conditions[i].Type) {
			status.Conditions[i].ObservedGeneration = want.Generation
		}
	}
	status.NominatedNodeName = want.Status.NominatedNodeName
	if status.StartTime == nil {
		status.StartTime = want.Status.StartTime
	}
	if have.gone {
		end(&status, want)
	}
	return status
}

// onTheWay says that a pod is being started, and that nothing has gone wrong.
func onTheWay(status *corev1.PodStatus) bool {
	if status.Phase != corev1.PodPending && status.Phase != "" {
		return false
	}
	return !slices.ContainsFunc(slices.Concat(status.InitContainerStatuses, status.ContainerStatuses), func(c corev1.ContainerStatus) bool {
		waits, ended := c.State.Waiting, c.State.Terminated
		return c.RestartCount > 0 || ended != nil && ended.ExitCode != 0 ||
			waits != nil && waits.Reason != "ContainerCreating" && waits.Reason != "PodInitializing"
	})
}

// end makes the status of a pod that is gone final. It has failed, unless every
// container succeeded; a phase that was final stays.
func end(status *corev1.PodStatus, want *corev1.Pod) {
	phase := corev1.PodSucceeded
	for i := range status.ContainerStatuses {
		c := &status.ContainerStatuses[i]
		c.Ready, c.Started = false, new(bool)
		if c.State.Terminated == nil {
			lost(c)
		}
		if c.State.Terminated.ExitCode != 0 {
			phase = corev1.PodFailed
		}
	}
	if len(status.ContainerStatuses) < len(want.Spec.Containers) {
		phase = corev1.PodFailed
	}
	switch {
	case finished(want):
		status.Phase = want.Status.Phase
	case status.Phase != corev1.PodSucceeded && status.Phase != corev1.PodFailed:
		status.Phase = phase
	}
	for i := range status.Conditions {
		if c := &status.Conditions[i]; c.Type == corev1.PodReady || c.Type == corev1.ContainersReady {
			c.Status, c.Reason, c.Message = corev1.ConditionFalse, "Pod"+string(status.Phase), ""
		}
	}
}

// lost ends a container of which nobody saw the end.
func lost(c *corev1.ContainerStatus) {
	t := &corev1.ContainerStateTerminated{
		ExitCode: 137, Reason: "ContainerStatusUnknown", ContainerID: c.ContainerID,
		Message: "The container could not be located when the pod was deleted.",
	}
	if r := c.State.Running; r != nil {
		t.StartedAt = r.StartedAt
	}
	c.State = corev1.ContainerState{Terminated: t}
}
