package script

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"nodal/node/status"
	"nodal/reconciler"
)

// tell prints what the agent waits for, and the status if it has changed.
func (s *stage) tell(turn reconciler.Turn) {
	if turn.Why != "" && len(s.flight) == 0 {
		s.say("why: %s", turn.Why)
	}
	if !turn.Wake.IsZero() {
		s.say("wake in %s", turn.Wake.Sub(s.now))
	}
	if s.track.Slot().Pod.Deletion != nil && s.track.Got().Empty() {
		return // readers keep the last status
	}
	s.store.Observe(s.key, s.track.Got())
	s.tellProbes()
	told := summary(status.Of(s.site(), s.track.Slot(), s.track.Got()))
	if told != s.told {
		s.say("= %s", told)
	}
	s.told = told
}

// summary returns a status in one line: the phase, the conditions, and each container.
func summary(st corev1.PodStatus) string {
	parts := []string{string(st.Phase)}
	for _, c := range st.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			parts = append(parts, "ready")
		}
	}
	if st.Reason != "" {
		parts = append(parts, st.Reason)
	}
	line := strings.Join(parts, " ")
	for _, list := range [][]corev1.ContainerStatus{st.InitContainerStatuses, st.ContainerStatuses, st.EphemeralContainerStatuses} {
		for i := range list {
			line += "; " + container(&list[i])
		}
	}
	return line
}

func container(c *corev1.ContainerStatus) string {
	line := c.Name + " " + state(c.State)
	if c.RestartCount > 0 {
		line += fmt.Sprintf(" restarts=%d", c.RestartCount)
	}
	if c.LastTerminationState.Terminated != nil {
		line += " (" + state(c.LastTerminationState) + ")"
	}
	return line
}

func state(s corev1.ContainerState) string {
	switch {
	case s.Running != nil:
		return "running"
	case s.Terminated != nil:
		return fmt.Sprintf("%s %d", s.Terminated.Reason, s.Terminated.ExitCode)
	}
	return s.Waiting.Reason
}
