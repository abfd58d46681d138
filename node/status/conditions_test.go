package status

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

func wantList(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("\ngot  %q\nwant %q", got, want)
	}
}

func conditionLines(s corev1.PodStatus) []string {
	var lines []string
	for _, c := range s.Conditions {
		line := fmt.Sprintf("%s %s +%s", c.Type, c.Status, c.LastTransitionTime.Sub(accepted))
		if c.Reason != "" {
			line += " " + c.Reason
		}
		if c.Message != "" {
			line += ": " + c.Message
		}
		lines = append(lines, line)
	}
	return lines
}

func TestConditions(t *testing.T) {
	for _, c := range []struct {
		name string
		pod  *scene
		want []string
	}{
		{"of a pod that was just accepted", pod(always, initially("one"), initially("two"), also("side"), noSandbox), []string{
			"PodReadyToStartContainers False +0s",
			"Initialized False +0s ContainersNotInitialized: containers with incomplete status: [one two]",
			"Ready False +0s ContainersNotReady: containers with unready status: [app side]",
			"ContainersReady False +0s ContainersNotReady: containers with unready status: [app side]",
			"PodScheduled True +0s",
		}},
		{"between two init containers", pod(always, initially("one"), initially("two"), exited("one", 0)), []string{
			"PodReadyToStartContainers True +1s",
			"Initialized False +9s ContainersNotInitialized: containers with incomplete status: [two]",
			"Ready False +0s ContainersNotReady: containers with unready status: [app]",
			"ContainersReady False +0s ContainersNotReady: containers with unready status: [app]",
			"PodScheduled True +0s",
		}},
		{"of a pod that is well", pod(always, initially("one"), exited("one", 0), running("app")), []string{
			"PodReadyToStartContainers True +1s",
			"Initialized True +9s",
			"Ready True +5s",
			"ContainersReady True +5s",
			"PodScheduled True +0s",
		}},
		{"of a pod that started over before one container had run", pod(always, also("side"), exited("app", 1), madeAnew("side")), []string{
			"PodReadyToStartContainers True +1s",
			"Initialized True +0s",
			"Ready False +0s ContainersNotReady: containers with unready status: [app side]",
			"ContainersReady False +0s ContainersNotReady: containers with unready status: [app side]",
			"PodScheduled True +0s",
		}},
		{"of a pod of which one container crashes", pod(always, also("side"), running("app"), exited("side", 1)), []string{
			"PodReadyToStartContainers True +1s",
			"Initialized True +0s",
			"Ready False +9s ContainersNotReady: containers with unready status: [side]",
			"ContainersReady False +9s ContainersNotReady: containers with unready status: [side]",
			"PodScheduled True +0s",
		}},
		{"of a pod whose probes have not said anything yet", pod(always, running("app"), probed(node.Health{})), []string{
			"PodReadyToStartContainers True +1s",
			"Initialized True +0s",
			"Ready False +0s ContainersNotReady: containers with unready status: [app]",
			"ContainersReady False +0s ContainersNotReady: containers with unready status: [app]",
			"PodScheduled True +0s",
		}},
		{"of a pod whose gates are not all open", pod(always, running("app"), gated("one", "True", 30), gated("two", "False", 40), gated("three", "", 0)), []string{
			"PodReadyToStartContainers True +1s",
			"Initialized True +0s",
			`Ready False +40s ReadinessGatesNotReady: the status of pod readiness gate "two" is not "True", but False, corresponding condition of pod readiness gate "three" does not exist.`,
			"ContainersReady True +5s",
			"PodScheduled True +0s",
			"one True +30s",
			"two False +40s",
		}},
		{"of a pod whose gates are open", pod(always, running("app"), gated("one", "True", 30)), []string{
			"PodReadyToStartContainers True +1s",
			"Initialized True +0s",
			"Ready True +30s",
			"ContainersReady True +5s",
			"PodScheduled True +0s",
			"one True +30s",
		}},
		{"of a pod that a probe has found ready", pod(always, running("app"), probed(node.Health{Started: at(20), Ready: true, Since: at(30)})), []string{
			"PodReadyToStartContainers True +1s",
			"Initialized True +0s",
			"Ready True +30s",
			"ContainersReady True +30s",
			"PodScheduled True +0s",
		}},
		{"of a pod that a probe does not find ready any more", pod(always, running("app"), probed(node.Health{Started: at(20), Since: at(40)})), []string{
			"PodReadyToStartContainers True +1s",
			"Initialized True +0s",
			"Ready False +40s ContainersNotReady: containers with unready status: [app]",
			"ContainersReady False +40s ContainersNotReady: containers with unready status: [app]",
			"PodScheduled True +0s",
		}},
		{"of a pod whose sidecar has not started", pod(always, sidecar("proxy"), initially("one"), created("proxy")), []string{
			"PodReadyToStartContainers True +1s",
			"Initialized False +0s ContainersNotInitialized: containers with incomplete status: [proxy one]",
			"Ready False +0s ContainersNotReady: containers with unready status: [proxy app]",
			"ContainersReady False +0s ContainersNotReady: containers with unready status: [proxy app]",
			"PodScheduled True +0s",
		}},
		{"of a pod whose sidecar has started", pod(always, sidecar("proxy"), running("proxy"), running("app")), []string{
			"PodReadyToStartContainers True +1s",
			"Initialized True +5s",
			"Ready True +5s",
			"ContainersReady True +5s",
			"PodScheduled True +0s",
		}},
		{"of a pod whose sidecar crashes", pod(always, sidecar("proxy"), exited("proxy", 1), running("app")), []string{
			"PodReadyToStartContainers True +1s",
			"Initialized True +5s",
			"Ready False +9s ContainersNotReady: containers with unready status: [proxy]",
			"ContainersReady False +9s ContainersNotReady: containers with unready status: [proxy]",
			"PodScheduled True +0s",
		}},
		{"of a pod whose sidecar has crashed again and again", pod(always, sidecar("proxy"), exited("proxy", 1), running("proxy"), running("app"), firstStarted("proxy", 2)), []string{
			"PodReadyToStartContainers True +1s",
			"Initialized True +2s",
			"Ready True +5s",
			"ContainersReady True +5s",
			"PodScheduled True +0s",
		}},
		{"of a pod whose sandbox has died", pod(always, initially("one"), exited("one", 0), exited("app", 137), deadSandbox), []string{
			"PodReadyToStartContainers False +9s",
			"Initialized True +9s",
			"Ready False +9s ContainersNotReady: containers with unready status: [app]",
			"ContainersReady False +9s ContainersNotReady: containers with unready status: [app]",
			"PodScheduled True +0s",
		}},
		{"of a pod whose sandbox has died before anything ran in it", pod(always, deadSandbox), []string{
			"PodReadyToStartContainers False +1s",
			"Initialized True +0s",
			"Ready False +0s ContainersNotReady: containers with unready status: [app]",
			"ContainersReady False +0s ContainersNotReady: containers with unready status: [app]",
			"PodScheduled True +0s",
		}},
		{"of a pod that begins anew in another sandbox", pod(always, sidecar("proxy"), exited("proxy", 137), exited("app", 137), deadSandbox, anotherSandbox(12)), []string{
			"PodReadyToStartContainers True +12s",
			"Initialized False +12s ContainersNotInitialized: containers with incomplete status: [proxy]",
			"Ready False +9s ContainersNotReady: containers with unready status: [proxy app]",
			"ContainersReady False +9s ContainersNotReady: containers with unready status: [proxy app]",
			"PodScheduled True +0s",
		}},
		{"of a pod that has succeeded", pod(never, exited("app", 0)), []string{
			"PodReadyToStartContainers False +9s",
			"Initialized True +0s PodCompleted",
			"Ready False +9s PodCompleted",
			"ContainersReady False +9s PodCompleted",
			"PodScheduled True +0s",
		}},
		{"of a pod that has failed", pod(never, exited("app", 1)), []string{
			"PodReadyToStartContainers False +9s",
			"Initialized True +0s",
			"Ready False +9s PodFailed",
			"ContainersReady False +9s PodFailed",
			"PodScheduled True +0s",
		}},
		{"of a pod that has failed to begin", pod(never, initially("one"), exited("one", 1)), []string{
			"PodReadyToStartContainers False +9s",
			"Initialized False +9s ContainersNotInitialized: containers with incomplete status: [one]",
			"Ready False +0s PodFailed",
			"ContainersReady False +0s PodFailed",
			"PodScheduled True +0s",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := c.pod.status()
			wantList(t, conditionLines(s), c.want)
			for _, condition := range s.Conditions {
				if condition.ObservedGeneration != 3 {
					t.Errorf("%s is of generation %d, want 3", condition.Type, condition.ObservedGeneration)
				}
			}
		})
	}
}
