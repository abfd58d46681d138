package status

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestMessagesShareTheirRoom(t *testing.T) {
	long := strings.Repeat("é", 2048)
	ended := func(message string) corev1.ContainerStatus {
		s := corev1.ContainerStatus{}
		s.State.Terminated = &corev1.ContainerStateTerminated{Message: message}
		s.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{Message: message}
		return s
	}
	for containers, want := range map[int]int{1: 4096, 3: 4096, 4: 3072, 5: 2456} {
		t.Run(fmt.Sprintf("%d containers", containers), func(t *testing.T) {
			s := corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{ended(long)}}
			for range containers - 1 {
				s.ContainerStatuses = append(s.ContainerStatuses, ended(long))
			}
			shorten(&s)
			for _, list := range [][]corev1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses} {
				for _, c := range list {
					state, last := c.State.Terminated.Message, c.LastTerminationState.Terminated.Message
					if len(state) != want || state != last || !strings.HasPrefix(long, state) {
						t.Errorf("messages of %d and %d bytes, want %d of whole characters", len(state), len(last), want)
					}
				}
			}
		})
	}
}

func TestShortMessagesAndRunningContainersStay(t *testing.T) {
	s := corev1.PodStatus{ContainerStatuses: make([]corev1.ContainerStatus, 2)}
	s.ContainerStatuses[0].State.Terminated = &corev1.ContainerStateTerminated{Message: "sorry"}
	shorten(&s)
	if got := s.ContainerStatuses[0].State.Terminated.Message; got != "sorry" {
		t.Errorf("got %q, want it whole", got)
	}
	shorten(&corev1.PodStatus{})
}
