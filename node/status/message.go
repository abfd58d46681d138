package status

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// maxMessages bounds the termination messages of all containers of a pod together, so that a
// status stays small whatever the containers write.
const maxMessages = 12 << 10

// shorten gives every container the same share of what the messages may take.
func shorten(s *corev1.PodStatus) {
	lists := [][]corev1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses, s.EphemeralContainerStatuses}
	containers := 0
	for _, list := range lists {
		containers += len(list)
	}
	for _, list := range lists {
		for i := range list {
			for _, ended := range []*corev1.ContainerStateTerminated{list[i].State.Terminated, list[i].LastTerminationState.Terminated} {
				if share := maxMessages / containers; ended != nil && len(ended.Message) > share {
					ended.Message = strings.ToValidUTF8(ended.Message[:share], "")
				}
			}
		}
	}
}
