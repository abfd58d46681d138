package node

import corev1 "k8s.io/api/core/v1"

// OwnCondition says whether a condition of a pod follows from what the node does
// and sees, so that nobody else may say it.
func OwnCondition(kind corev1.PodConditionType) bool {
	switch kind {
	case corev1.PodScheduled, corev1.PodReady, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReadyToStartContainers,
		corev1.PodResizePending, corev1.PodResizeInProgress, corev1.AllContainersRestarting:
		return true
	}
	return false
}
