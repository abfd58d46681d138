package status

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// outline writes a container status in a line.
func outline(c *corev1.ContainerStatus) string {
	parts := []string{state(c.State)}
	if c.LastTerminationState.Terminated != nil {
		parts = append(parts, "last "+state(c.LastTerminationState))
	}
	if c.RestartCount > 0 {
		parts = append(parts, fmt.Sprintf("restarts=%d", c.RestartCount))
	}
	for word, holds := range map[string]bool{"ready": c.Ready, "started": *c.Started} {
		if holds {
			parts = append(parts, word)
		}
	}
	slices.Sort(parts[1:])
	return strings.Join(parts, ", ")
}

func state(s corev1.ContainerState) string {
	switch {
	case s.Running != nil:
		return "running"
	case s.Terminated != nil:
		return fmt.Sprintf("terminated %d %s", s.Terminated.ExitCode, s.Terminated.Reason)
	}
	return "waiting " + s.Waiting.Reason
}

func TestEphemeralContainerStatus(t *testing.T) {
	added := func(s *scene) {
		s.slot.Pod.Object.Spec.EphemeralContainers = []corev1.EphemeralContainer{
			{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debug", Image: "debug:1"}},
		}
	}
	begun := func(s *scene) { s.slot.Tallies["debug"] = node.Tally{Begun: true} }
	for _, c := range []struct {
		name string
		pod  *scene
		want string
	}{
		{"before it is made it waits", pod(always, initially("setup"), running("setup"), added), "waiting ContainerCreating"},
		{"a pull that failed is told", pod(always, added, fault("image/debug", "ErrImagePull", 1)), "waiting ErrImagePull"},
		{"while it runs it is neither ready nor not", pod(always, added, begun, running("debug")), "running"},
		{"when it has ended nothing follows", pod(always, added, begun, exited("debug", 1)), "terminated 1 Error"},
		{"when nothing is left of it nobody knows how it ended", pod(always, added, begun), "terminated 137 ContainerStatusUnknown"},
	} {
		t.Run(c.name, func(t *testing.T) {
			list := c.pod.status().EphemeralContainerStatuses
			if len(list) != 1 || list[0].Ready || list[0].Started != nil {
				t.Fatalf("got %+v, want one that is not ready", list)
			}
			if there := list[0].ContainerID != ""; there != (list[0].Resources != nil) {
				t.Errorf("it is there: %t, with resources %v", there, list[0].Resources)
			}
			list[0].Started = new(bool)
			if got := outline(&list[0]); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestContainerStatus(t *testing.T) {
	said := func(reason string) option {
		return func(s *scene) { s.got.Containers[0].Reason = reason }
	}
	for _, c := range []struct {
		name string
		pod  *scene
		want string
	}{
		{"before its sandbox it waits", pod(always, noSandbox), "waiting ContainerCreating"},
		{"with init containers it waits for them", pod(always, initially("setup"), running("setup")), "waiting PodInitializing"},
		{"with init containers it waits so until it runs", pod(always, initially("setup"), exited("setup", 0)), "waiting PodInitializing"},
		{"created, it waits", pod(always, created("app")), "waiting ContainerCreating"},
		{"a pull that failed is told", pod(always, fault("image/app", "ErrImagePull", 1)), "waiting ErrImagePull"},
		{"an image that may not be pulled is told as such", pod(always, fault("image/app", "ErrImageNeverPull", 4)), "waiting ErrImageNeverPull"},
		{"a container that cannot be made is told", pod(always, fault("container/app", "CreateContainerError", 1)), "waiting CreateContainerError"},

		{"a container that runs is ready", pod(always, running("app")), "running, ready, started"},
		{"an old failure is no news of a container that runs",
			pod(always, running("app"), fault("container/app", "RunContainerError", 1)), "running, ready, started"},
		{"to Kubernetes what is in its postStart hook does not run", pod(always, running("app"), hooked(node.Health{})), "waiting ContainerCreating"},
		{"nor what has one that has failed", pod(always, running("app"), hooked(node.Health{Failed: node.FailedHook})), "waiting PostStartHookError"},
		{"then it does", pod(always, running("app"), hooked(node.Health{Hooked: at(7)})), "running, ready, started"},
		{"an older run says nothing of this one", pod(always, exited("app", 1), hooked(node.Health{Hooked: at(7)}), running("app")),
			"waiting ContainerCreating, last terminated 1 Error, restarts=1"},
		{"what is deleted meanwhile runs until it has ended", pod(always, running("app"), hooked(node.Health{}), deleted), "running"},
		{"a run follows another", pod(always, exited("app", 2), running("app")), "running, last terminated 2 Error, ready, restarts=1, started"},
		{"only the last run is told", pod(always, exited("app", 2), exited("app", 3), running("app")),
			"running, last terminated 3 Error, ready, restarts=2, started"},
		{"what became of the last run is told when it is known", pod(always, unlearnt("app"), running("app")), "running, ready, restarts=1, started"},

		{"an end without a word is a completion", pod(never, exited("app", 0)), "terminated 0 Completed"},
		{"a failure without a word is an error", pod(never, exited("app", 3)), "terminated 3 Error"},
		{"the runtime's word counts", pod(never, exited("app", 137), said("OOMKilled")), "terminated 137 OOMKilled"},
		{"no exit code is made up", pod(never, unlearnt("app")), "running"},

		{"the first crash is followed up at once", pod(always, exited("app", 1)), "terminated 1 Error"},
		{"a crash after a crash backs off", pod(always, exited("app", 1), tally("app", 0, 1)),
			"waiting CrashLoopBackOff, last terminated 1 Error"},
		{"a clean end backs off too when it is restarted", pod(always, exited("app", 0), tally("app", 0, 1)),
			"waiting CrashLoopBackOff, last terminated 0 Completed"},
		{"a clean end is the end under OnFailure", pod(onFailure, exited("app", 0), tally("app", 0, 1)), "terminated 0 Completed"},
		{"a crash is the end under Never", pod(never, exited("app", 1), tally("app", 0, 1)), "terminated 1 Error"},
		{"a restart on its way does not back off", pod(always, exited("app", 1), tally("app", 1, 1)), "terminated 1 Error, restarts=1"},
		{"a pod that is deleted restarts nothing", pod(always, exited("app", 1), tally("app", 0, 1), deleted), "terminated 1 Error"},
		{"an image that is gone is told after a run", pod(always, exited("app", 1), fault("image/app", "ErrImagePull", 1)),
			"waiting ErrImagePull, last terminated 1 Error"},
		{"a start that failed is told", pod(always, exited("app", 128), said("StartError"), fault("container/app", "RunContainerError", 1)),
			"waiting RunContainerError, last terminated 128 StartError"},
		{"a start that failed backs off from the second on",
			pod(always, exited("app", 128), said("StartError"), fault("container/app", "RunContainerError", 2), tally("app", 0, 1)),
			"waiting CrashLoopBackOff, last terminated 128 StartError"},
		{"a start that failed is told before its end is understood", pod(always, unlearnt("app"), fault("container/app", "RunContainerError", 1)),
			"waiting RunContainerError"},
		{"a run that vanished is told as such", pod(never, func(s *scene) {
			s.got.Miss(pod(never, running("app")).got, at(9))
		}), "terminated 137 ContainerStatusUnknown"},
		{"the count survives a runtime that lost the runs", pod(always, tally("app", 4, 0)), "waiting ContainerCreating, restarts=4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := c.pod.status()
			if got := outline(&s.ContainerStatuses[0]); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestInitContainerStatus(t *testing.T) {
	for _, c := range []struct {
		name string
		pod  *scene
		want string
	}{
		{"before its sandbox it waits", pod(always, initially("setup"), noSandbox), "waiting PodInitializing"},
		{"while it runs it is not ready", pod(always, initially("setup"), running("setup")), "running, started"},
		{"its success makes it ready", pod(always, initially("setup"), exited("setup", 0)), "terminated 0 Completed, ready"},
		{"its success does not back off", pod(always, initially("setup"), exited("setup", 0), tally("setup", 0, 3)), "terminated 0 Completed, ready"},
		{"its failure backs off", pod(onFailure, initially("setup"), exited("setup", 1), tally("setup", 0, 1)),
			"waiting CrashLoopBackOff, last terminated 1 Error"},
		{"its failure is final under Never", pod(never, initially("setup"), exited("setup", 1)), "terminated 1 Error"},
		{"its end is not made up", pod(never, initially("setup"), unlearnt("setup")), "running"},
		{"a sidecar that runs is ready", pod(always, sidecar("proxy"), running("proxy")), "running, ready, started"},
		{"a sidecar that ended is not", pod(always, sidecar("proxy"), exited("proxy", 0)), "terminated 0 Completed"},
		{"a sidecar backs off whatever the pod's policy", pod(never, sidecar("proxy"), exited("proxy", 0), tally("proxy", 0, 1)),
			"waiting CrashLoopBackOff, last terminated 0 Completed"},
		{"a sidecar of a pod that is over does not", pod(never, sidecar("proxy"), exited("proxy", 143), exited("app", 0), tally("proxy", 0, 1)),
			"terminated 143 Error"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := c.pod.status()
			if got := outline(&s.InitContainerStatuses[0]); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestContainerIsNamedAsItsRuntimeKnowsIt(t *testing.T) {
	s := pod(always, exited("app", 1), tally("app", 0, 2)).status().ContainerStatuses[0]
	if got, want := s.ContainerID, "containerd://app-0"; got != want {
		t.Errorf("id = %s, want %s", got, want)
	}
	last := s.LastTerminationState.Terminated
	if last.ContainerID != s.ContainerID || !last.StartedAt.Time.Equal(at(5)) || !last.FinishedAt.Time.Equal(at(9)) {
		t.Errorf("last = %+v", last)
	}
	if got, want := s.State.Waiting.Message, "back-off 20s restarting failed container=app pod=web_default(u1)"; got != want {
		t.Errorf("message = %q, want %q", got, want)
	}
}

func TestRunsOfAnotherPodAreNotShown(t *testing.T) {
	s := pod(always, running("app"), func(s *scene) { s.got.Containers[0].UID = "u0" })
	if got := s.status(); got.Phase != corev1.PodPending || got.ContainerStatuses[0].ContainerID != "" {
		t.Errorf("status = %s %+v", got.Phase, got.ContainerStatuses[0])
	}
}

func TestPodRunsWhereItsContainersAre(t *testing.T) {
	s := pod(always, running("app"), func(s *scene) {
		late := node.Sandbox{ID: "s1", UID: "u1", Attempt: 1, State: node.SandboxReady}
		s.got.Sandboxes = append([]node.Sandbox{late}, s.got.Sandboxes...)
	})
	if got, want := s.status().PodIP, "10.0.0.7"; got != want {
		t.Errorf("podIP = %s, want %s: a spare sandbox is not where the pod lives", got, want)
	}
}
