package status

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// startingOver gives app a rule by which all containers restart, and says that they
// do after the newest runs of some.
func startingOver(names ...string) option {
	return func(s *scene) {
		s.slot.Pod.Object.Spec.Containers[0].RestartPolicyRules = []corev1.ContainerRestartRule{
			{Action: corev1.ContainerRestartRuleActionRestartAllContainers},
		}
		for _, name := range names {
			s.slot.Pod.Restarts = append(s.slot.Pod.Restarts, node.Restart{Container: name, Attempt: s.got.Newest("u1", name).Attempt, All: true, At: at(9)})
		}
	}
}

func TestConditionsWhileAllContainersRestart(t *testing.T) {
	two := func(s *scene) { initially("one")(s); also("side")(s); exited("one", 0)(s) }
	for _, c := range []struct {
		name string
		pod  *scene
		want []string
	}{
		{"before anything happens it does not restart", pod(never, two, running("app"), running("side"), startingOver()), []string{
			"PodReadyToStartContainers True +1s",
			"Initialized True +9s",
			"Ready True +5s",
			"ContainersReady True +5s",
			"PodScheduled True +0s",
			"AllContainersRestarting False +0s",
		}},
		{"while the others end it restarts, and stays initialised", pod(never, two, exited("app", 42), running("side"), startingOver("one", "app", "side")), []string{
			"PodReadyToStartContainers True +1s",
			"Initialized True +9s",
			"Ready False +9s ContainersNotReady: containers with unready status: [app]",
			"ContainersReady False +9s ContainersNotReady: containers with unready status: [app]",
			"PodScheduled True +0s",
			"AllContainersRestarting True +9s RestartAllContainersStarted: container exited with restart policy rule",
		}},
		{"then it comes up", pod(never, two, exited("app", 42), exited("side", 137), startingOver("one", "app", "side"), running("one")), []string{
			"PodReadyToStartContainers True +1s",
			"Initialized True +9s",
			"Ready False +9s ContainersNotReady: containers with unready status: [app side]",
			"ContainersReady False +9s ContainersNotReady: containers with unready status: [app side]",
			"PodScheduled True +0s",
			"AllContainersRestarting False +9s",
		}},
	} {
		t.Run(c.name, func(t *testing.T) { wantList(t, conditionLines(c.pod.status()), c.want) })
	}
}

func TestContainersThatWaitToRestartWithAll(t *testing.T) {
	s := pod(never, initially("one"), exited("one", 0), exited("app", 42), startingOver("one", "app"), running("one")).status()
	app := s.ContainerStatuses[0]
	if app.State.Waiting == nil || app.LastTerminationState.Terminated == nil || app.LastTerminationState.Terminated.ExitCode != 42 {
		t.Errorf("app is %+v, last %+v, want it waiting after code 42", app.State, app.LastTerminationState)
	}
	if s.Phase != corev1.PodPending {
		t.Errorf("phase = %s, want Pending", s.Phase)
	}
}
