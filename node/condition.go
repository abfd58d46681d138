package node

import corev1 "k8s.io/api/core/v1"

// OwnCondition reports whether the node itself derives a condition of a pod, so that no client
// may set it.
func OwnCondition(kind corev1.PodConditionType) bool {
	switch kind {
	case corev1.PodScheduled, corev1.PodReady, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReadyToStartContainers,
		corev1.PodResizePending, corev1.PodResizeInProgress, corev1.AllContainersRestarting:
		return true
	}
	return false
}

// IsReady reports whether a pod is ready.
func IsReady(s *corev1.PodStatus) bool {
	for i := range s.Conditions {
		if s.Conditions[i].Type == corev1.PodReady {
			return s.Conditions[i].Status == corev1.ConditionTrue
		}
	}
	return false
}
