package status

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

const (
	always    = corev1.RestartPolicyAlways
	onFailure = corev1.RestartPolicyOnFailure
	never     = corev1.RestartPolicyNever
)

// The table is Kubernetes' own account of a pod's phase.
func TestPhase(t *testing.T) {
	crashing := func(name string) option {
		return func(s *scene) { exited(name, 1)(s); tally(name, 0, 2)(s) }
	}
	for _, c := range []struct {
		name string
		pod  *scene
		want corev1.PodPhase
	}{
		{"a pod without a sandbox is pending", pod(always, noSandbox), corev1.PodPending},
		{"a container that was only created keeps its pod pending", pod(always, created("app")), corev1.PodPending},
		{"one container that has not begun keeps its pod pending", pod(always, also("side"), running("app")), corev1.PodPending},
		{"a pod runs when all its containers do", pod(always, also("side"), running("app"), running("side")), corev1.PodRunning},
		{"a pod runs as long as one container does", pod(never, also("side"), running("app"), exited("side", 1)), corev1.PodRunning},

		{"a container that is always restarted never ends its pod", pod(always, exited("app", 0)), corev1.PodRunning},
		{"a crashing container counts as stopped, not as waiting", pod(always, crashing("app")), corev1.PodRunning},
		{"a crashing container beside a running one leaves the pod running", pod(always, also("side"), crashing("app"), running("side")), corev1.PodRunning},
		{"an image that is gone does not turn a pod that ran into a pending one",
			pod(always, exited("app", 1), fault("image/app", "ErrImagePull", 3)), corev1.PodRunning},

		{"a pod succeeds when all its containers have", pod(onFailure, also("side"), exited("app", 0), exited("side", 0)), corev1.PodSucceeded},
		{"a pod that never restarts succeeds when all its containers have", pod(never, exited("app", 0)), corev1.PodSucceeded},
		{"a failure is made good under OnFailure", pod(onFailure, also("side"), exited("app", 0), exited("side", 1)), corev1.PodRunning},
		{"a failure is for good under Never", pod(never, also("side"), exited("app", 0), exited("side", 1)), corev1.PodFailed},
		{"a run whose end is not understood yet fails no pod", pod(never, unlearnt("app")), corev1.PodRunning},

		{"a pod is pending while an init container runs", pod(always, initially("setup"), running("setup")), corev1.PodPending},
		{"a pod is pending between two init containers", pod(always, initially("one"), initially("two"), exited("one", 0)), corev1.PodPending},
		{"a pod is pending while the end of its init container is not understood", pod(never, initially("setup"), unlearnt("setup")), corev1.PodPending},
		{"a failed init container is run again under Always", pod(always, initially("setup"), crashing("setup")), corev1.PodPending},
		{"a failed init container is run again under OnFailure", pod(onFailure, initially("setup"), exited("setup", 1)), corev1.PodPending},
		{"a failed init container fails the pod under Never", pod(never, initially("setup"), exited("setup", 1)), corev1.PodFailed},
		{"a pod with init containers runs once they are past", pod(always, initially("setup"), exited("setup", 0), running("app")), corev1.PodRunning},
		{"init containers that run again in a new sandbox make the pod pending",
			pod(always, initially("setup"), exited("setup", 0), exited("app", 137), running("setup"), func(s *scene) {
				s.got.Sandboxes = []node.Sandbox{{ID: "s1", UID: "u1", State: node.SandboxReady, Attempt: 1}}
				s.got.Containers[0].SandboxID = "s1"
			}), corev1.PodPending},
		{"a pod is pending while a sidecar has not started", pod(always, sidecar("proxy"), created("proxy")), corev1.PodPending},
		{"a sidecar that crashes before the application begins keeps its pod pending",
			pod(always, sidecar("proxy"), crashing("proxy")), corev1.PodPending},
		{"a sidecar that crashes later does not count", pod(always, sidecar("proxy"), running("app"), crashing("proxy")), corev1.PodRunning},
		{"a sidecar that runs keeps the pod running until it is ended", pod(never, sidecar("proxy"), running("proxy"), exited("app", 0)), corev1.PodRunning},
		{"how a sidecar ended does not count", pod(never, sidecar("proxy"), exited("proxy", 137), exited("app", 0)), corev1.PodSucceeded},
		{"a pod whose init container failed goes on until its sidecars are ended",
			pod(never, sidecar("proxy"), initially("setup"), running("proxy"), exited("setup", 1)), corev1.PodPending},
		{"then it has failed", pod(never, sidecar("proxy"), initially("setup"), exited("proxy", 143), exited("setup", 1)), corev1.PodFailed},
		{"a container with a policy of its own ends a pod that restarts others", pod(always, itself("Never"), exited("app", 1)), corev1.PodFailed},
		{"so it does with success", pod(always, itself("OnFailure"), exited("app", 0)), corev1.PodSucceeded},
		{"a container with a policy of its own keeps a pod running that restarts none", pod(never, itself("Always"), exited("app", 0)), corev1.PodRunning},

		{"containers that outlast their sandbox leave the pod running",
			pod(always, initially("setup"), exited("setup", 0), exited("app", 137), noSandbox), corev1.PodRunning},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.pod.status().Phase; got != c.want {
				t.Errorf("phase = %s, want %s", got, c.want)
			}
		})
	}
}

func TestFinishedPodKeepsItsStatus(t *testing.T) {
	s := pod(never, running("app"))
	s.slot.Result = &corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted"}
	got := s.status()
	if got.Phase != corev1.PodFailed || got.Reason != "Evicted" {
		t.Errorf("status = %s %s, want Failed Evicted whatever runs", got.Phase, got.Reason)
	}
	got.Reason = "changed"
	if s.slot.Result.Reason != "Evicted" {
		t.Error("a reader wrote into the record")
	}
}

func TestPreemptedPod(t *testing.T) {
	goes := func(s *scene) {
		s.slot.Termination = &node.Termination{Requested: at(9), Reason: node.Preempting, Message: node.PreemptedMessage}
	}
	told := func(p *scene) string {
		s := p.status()
		for _, c := range s.Conditions {
			if c.Type == corev1.DisruptionTarget {
				return fmt.Sprintf("%s %s: %s, %s %s since %d", s.Phase, s.Reason, s.Message, c.Status, c.Reason, int(c.LastTransitionTime.Sub(accepted).Seconds()))
			}
		}
		return string(s.Phase) + " " + s.Reason
	}
	if got, want := told(pod(always, running("app"), goes)), "Running "; got != want {
		t.Errorf("while it runs: got %q, want %q", got, want)
	}
	if got, want := told(pod(always, exited("app", 0), goes)), "Failed Preempting: Preempted in order to admit critical pod, True TerminationByKubelet since 9"; got != want {
		t.Errorf("once it has ended: got %q, want %q", got, want)
	}
}

func TestPodThatIsMadeToEnd(t *testing.T) {
	doomed := func(s *scene) {
		s.slot.Termination = &node.Termination{Requested: at(9), Reason: "DeadlineExceeded", Message: "it was active for too long"}
	}
	for _, c := range []struct {
		name   string
		pod    *scene
		phase  corev1.PodPhase
		reason string
	}{
		{"runs until its containers have ended", pod(always, running("app"), doomed), corev1.PodRunning, ""},
		{"has failed then, whatever they ended with", pod(always, exited("app", 0), doomed), corev1.PodFailed, "DeadlineExceeded"},
		{"has failed if it never began", pod(always, initially("one"), noSandbox, doomed), corev1.PodFailed, "DeadlineExceeded"},
		{"has failed for that reason, not for what failed before",
			pod(always, noSandbox, fault(node.SandboxTarget(), "FailedCreatePodSandBox", 1), doomed), corev1.PodFailed, "DeadlineExceeded"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := c.pod.status()
			if s.Phase != c.phase || s.Reason != c.reason {
				t.Errorf("status = %s %q, want %s %q", s.Phase, s.Reason, c.phase, c.reason)
			}
			for _, s := range s.ContainerStatuses {
				if w := s.State.Waiting; w != nil && w.Reason == "CrashLoopBackOff" {
					t.Errorf("container %s waits for a restart that does not come", s.Name)
				}
			}
		})
	}
}

func TestStatusOfAPodThatWasNeverObserved(t *testing.T) {
	got := Of(site, pod(always).slot, nil)
	if got.Phase != corev1.PodPending || got.ObservedGeneration != 3 || !got.StartTime.Time.Equal(accepted) {
		t.Errorf("status = %s, generation %d, started %s", got.Phase, got.ObservedGeneration, got.StartTime)
	}
}

func TestAddresses(t *testing.T) {
	hostNetwork := func(s *scene) { s.slot.Pod.Object.Spec.HostNetwork = true }
	spare := func(s *scene) {
		late := node.Sandbox{ID: "s1", UID: "u1", Attempt: 1, IPs: []string{"10.0.0.8"}}
		s.got.Sandboxes = append([]node.Sandbox{late}, s.got.Sandboxes...)
	}
	another := func(s *scene) { s.got.Sandboxes[0].UID = "u0" }
	for _, c := range []struct {
		name string
		pod  *scene
		want []string
	}{
		{"a pod has the addresses of its sandbox", pod(always), []string{"10.0.0.7", "fd00::7"}},
		{"a pod on the host's network has the host's", pod(always, hostNetwork), site.HostIPs},
		{"without a sandbox there are none", pod(always, noSandbox), nil},
		{"without a sandbox there are none on the host's network either", pod(always, noSandbox, hostNetwork), nil},
		{"a sandbox that is not ready has none to give", pod(always, running("app"), spare), []string{"10.0.0.7", "fd00::7"}},
		{"another pod's sandbox under the name does not count", pod(always, another), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := c.pod.status()
			var got []string
			for _, ip := range s.PodIPs {
				got = append(got, ip.IP)
			}
			wantList(t, got, c.want)
			if len(c.want) > 0 && s.PodIP != c.want[0] {
				t.Errorf("podIP = %s, want %s", s.PodIP, c.want[0])
			}
			if s.HostIP != "192.0.2.1" || len(s.HostIPs) != 2 {
				t.Errorf("host = %s %v", s.HostIP, s.HostIPs)
			}
		})
	}
}

func TestPodSaysThatItWaitsForOthersToEnd(t *testing.T) {
	p := pod(always, noSandbox)
	p.slot.Pod.Awaits = []node.Life{{UID: "a"}, {UID: "b"}}
	if s := p.status(); s.Phase != corev1.PodPending || s.Reason != "WaitingForRoom" || !strings.HasSuffix(s.Message, ": 2") {
		t.Errorf("status = %s %q %q", s.Phase, s.Reason, s.Message)
	}
}

func TestPodSaysWhyItHasNoSandbox(t *testing.T) {
	s := pod(always, noSandbox, fault(node.SandboxTarget(), "FailedCreatePodSandBox", 1)).status()
	if s.Reason != "FailedCreatePodSandBox" || s.Message != "it says why" {
		t.Errorf("reason = %q, message = %q", s.Reason, s.Message)
	}
}

func TestAPodThatStartsAfterOthersSaysSo(t *testing.T) {
	p := pod(always, noSandbox, func(s *scene) {
		s.got.Behind = []node.Unready{{Key: node.Key{Namespace: "default", Name: "db"}, Why: "it is not ready"}}
	})
	const want = "it starts after default/db (it is not ready)"
	if s := p.status(); s.Phase != corev1.PodPending || s.Reason != "WaitingForPods" || s.Message != want {
		t.Errorf("status = %s %q %q", s.Phase, s.Reason, s.Message)
	}
}
