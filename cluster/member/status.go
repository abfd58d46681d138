package member

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
)

// statusFor merges the node's status of a pod into the cluster's. Fields of other clients stay as they are.
func statusFor(want *corev1.Pod, have *local) corev1.PodStatus {
	status := *have.object.Status.DeepCopy()
	own := ownedIn(&status)
	status.Conditions = slices.DeleteFunc(status.Conditions, func(c corev1.PodCondition) bool { return !own(c) })
	for _, c := range want.Status.Conditions {
		if !own(c) {
			status.Conditions = append(status.Conditions, c)
		}
	}
	status.ObservedGeneration = observed(want, have)
	for i := range status.Conditions {
		if own(status.Conditions[i]) {
			status.Conditions[i].ObservedGeneration = status.ObservedGeneration
		}
	}
	status.NominatedNodeName = want.Status.NominatedNodeName
	status.ResourceClaimStatuses = want.Status.ResourceClaimStatuses
	status.ExtendedResourceClaimStatus = want.Status.ExtendedResourceClaimStatus
	status.NodeAllocatableResourceClaimStatuses = want.Status.NodeAllocatableResourceClaimStatuses
	keepStart(&status, want.Status.StartTime)
	keepTransitions(status.Conditions, want.Status.Conditions)
	if finished(want) { // a final phase stays, whichever client set it
		status.Phase, status.Reason, status.Message = want.Status.Phase, want.Status.Reason, want.Status.Message
	}
	if have.gone {
		end(&status, want)
	}
	return status
}

// keepStart leaves the time at which a pod started as it was. Conditions that hold since then go with it.
func keepStart(status *corev1.PodStatus, before *metav1.Time) {
	if before == nil {
		return
	}
	for i := range status.Conditions {
		if c := &status.Conditions[i]; status.StartTime != nil && c.LastTransitionTime.Equal(status.StartTime) {
			c.LastTransitionTime = *before
		}
	}
	status.StartTime = before
}

// keepTransitions leaves the times of conditions that hold as they did. The node may know another time of a pod that
// another kubelet has begun or probed.
func keepTransitions(conditions, before []corev1.PodCondition) {
	for i := range conditions {
		c := &conditions[i]
		for _, was := range before {
			if was.Type == c.Type && was.Status == c.Status && !was.LastTransitionTime.IsZero() {
				c.LastTransitionTime = was.LastTransitionTime
			}
		}
	}
}

// ownedIn returns a test for the conditions that the node owns. Other clients may set that a pod has to end, unless
// the node does.
func ownedIn(status *corev1.PodStatus) (own func(corev1.PodCondition) bool) {
	disrupts := func(c corev1.PodCondition) bool { return c.Type == corev1.DisruptionTarget }
	disrupted := slices.ContainsFunc(status.Conditions, disrupts)
	return func(c corev1.PodCondition) bool { return node.OwnCondition(c.Type) || disrupted && disrupts(c) }
}

// observed returns the cluster's generation of the pod that the node shows. The node counts generations of its own,
// and keeps the cluster's as an annotation. The result never falls: API servers refuse that.
func observed(want *corev1.Pod, have *local) int64 {
	if want.DeletionTimestamp != nil && (have.gone || !have.deadline.IsZero()) {
		return want.Generation // the deletion is the last change
	}
	generation, err := strconv.ParseInt(have.object.Annotations[annotationGeneration], 10, 64)
	if err != nil {
		return want.Status.ObservedGeneration
	}
	return max(generation, want.Status.ObservedGeneration)
}

// refusal returns the status of a pod that the node refuses. It has failed for good: the node would answer the same
// again.
func refusal(want *corev1.Pod, why string) corev1.PodStatus {
	status := *want.Status.DeepCopy()
	status.Phase, status.Reason, status.Message = corev1.PodFailed, nodeRefused, "Pod was refused: "+why
	status.ObservedGeneration = want.Generation
	return status
}

// starting reports whether a pod is being started and has met no fault.
func starting(status *corev1.PodStatus) bool {
	if status.Phase != corev1.PodPending && status.Phase != "" {
		return false
	}
	all := slices.Concat(status.InitContainerStatuses, status.ContainerStatuses)
	return !slices.ContainsFunc(all, func(c corev1.ContainerStatus) bool {
		waits, ended := c.State.Waiting, c.State.Terminated
		return c.RestartCount > 0 || ended != nil && ended.ExitCode != 0 ||
			waits != nil && waits.Reason != "ContainerCreating" && waits.Reason != "PodInitializing"
	})
}

// unlearned reports whether the node has yet to look closely at a pod that it takes over: the same containers run, but
// their start or the pod's address is not known. Without the address the pod's services would lose it.
func unlearned(before, now *corev1.PodStatus) bool {
	unknown := now.PodIP == "" && before.PodIP != ""
	for i := range before.ContainerStatuses {
		was := &before.ContainerStatuses[i]
		if was.State.Running == nil {
			continue
		}
		at := slices.IndexFunc(now.ContainerStatuses, func(c corev1.ContainerStatus) bool {
			return c.Name == was.Name && c.ContainerID == was.ContainerID && c.State.Running != nil
		})
		if at < 0 {
			return false
		}
		unknown = unknown || now.ContainerStatuses[at].State.Running.StartedAt.IsZero()
	}
	return unknown
}

// end makes the status of a pod that is gone final. The pod has failed, unless every container succeeded. A phase that
// was final stays.
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
	if status.Phase != corev1.PodSucceeded && status.Phase != corev1.PodFailed {
		status.Phase = phase
	}
	for i := range status.Conditions {
		if c := &status.Conditions[i]; c.Type == corev1.PodReady || c.Type == corev1.ContainersReady {
			c.Status, c.Reason, c.Message = corev1.ConditionFalse, "Pod"+string(status.Phase), ""
		}
	}
}

// lost ends a container whose end the node did not see.
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
