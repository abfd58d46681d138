package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/test/claim"
)

func TestPodThatEndsIsDoneForGood(t *testing.T) {
	claim.Shows(t, "Pod lifecycle", "a pod with restartPolicy Never ends as Succeeded or Failed by its exit codes, and stays so")
	n := start(t)
	good, bad := runs("good", "exit", "0"), runs("bad", "exit", "3")
	good.restart, bad.restart = "Never", "Never"
	n.apply(bundle(good, bad))
	for _, c := range []struct {
		pod    string
		phase  corev1.PodPhase
		code   int32
		reason string
	}{{"good", corev1.PodSucceeded, 0, "Completed"}, {"bad", corev1.PodFailed, 3, "Error"}} {
		p := n.wait(c.pod, "pod "+c.pod+" "+string(c.phase), func(p *corev1.Pod) bool { return p.Status.Phase == c.phase })
		ended := containerStatus(p, "main").State.Terminated
		if ended == nil || ended.ExitCode != c.code || ended.Reason != c.reason {
			t.Errorf("pod %s ended as %+v, want code %d and reason %s", c.pod, ended, c.code, c.reason)
		}
		if got := condition(p, corev1.PodReady); got != corev1.ConditionFalse {
			t.Errorf("pod %s is ready: %s, want False", c.pod, got)
		}
		if got := n.containers(c.pod); len(got) != 1 || got[0].running {
			t.Errorf("the runtime has %+v of pod %s, want one that has ended", got, c.pod)
		}
	}
}

func TestCrashingContainerIsRestartedWithBackoff(t *testing.T) {
	claim.Shows(t, "Containers", "a container that crashes is restarted with backoff and shown as CrashLoopBackOff with its last exit")
	n := start(t)
	n.apply(runs("crash", "exit", "7").yaml())
	p := n.wait("crash", "CrashLoopBackOff after a restart", func(p *corev1.Pod) bool {
		s := containerStatus(p, "main")
		return s.RestartCount == 1 && s.State.Waiting != nil && s.State.Waiting.Reason == "CrashLoopBackOff"
	})
	s := containerStatus(p, "main")
	if p.Status.Phase != corev1.PodRunning {
		t.Errorf("the phase is %s, want Running: it is to be restarted", p.Status.Phase)
	}
	if last := s.LastTerminationState.Terminated; last == nil || last.ExitCode != 7 {
		t.Errorf("the last run ended as %+v, want code 7", last)
	}
	if got := n.curl("/v1/namespaces/default/pods/crash"); !strings.Contains(got.body, `"reason":"CrashLoopBackOff"`) {
		t.Errorf("the summary is %s, want the reason in it", got)
	}
	words := "Back-off restarting failed container main in pod crash_default(" + string(p.UID) + ")"
	n.eventually("the event about its pause", func() bool { return strings.Contains(n.curl("/v1/events").body, words) })
}

func TestInitContainersRunInOrderAndOnce(t *testing.T) {
	claim.Shows(t, "Pod lifecycle", "init containers run one after the other, once, before the application")
	n := start(t)
	p := web("ordered")
	p.init = []program{busybox("first", "sleep 0.2; echo one"), busybox("second", "echo two")}
	n.apply(p.yaml())
	got := n.waitRunning("ordered")
	first, second, main := containerStatus(got, "first"), containerStatus(got, "second"), containerStatus(got, "main")
	for _, s := range []corev1.ContainerStatus{first, second} {
		if ended := s.State.Terminated; ended == nil || ended.Reason != "Completed" || s.RestartCount != 0 {
			t.Fatalf("init container %s is %+v, want completed at once", s.Name, s)
		}
	}
	if second.State.Terminated.StartedAt.Before(&first.State.Terminated.FinishedAt) {
		t.Errorf("the second started at %s, before the first ended", second.State.Terminated.StartedAt)
	}
	if main.State.Running == nil || main.State.Running.StartedAt.Before(&second.State.Terminated.FinishedAt) {
		t.Errorf("the main container is %+v, want it started after the init containers", main.State)
	}
	if got := condition(got, corev1.PodInitialized); got != corev1.ConditionTrue {
		t.Errorf("Initialized is %s, want True", got)
	}
}

func TestInitContainerThatFailsHoldsUpThePod(t *testing.T) {
	claim.Shows(t, "Pod lifecycle",
		"an init container that fails a pod with restartPolicy Never fails the pod, and its application never starts",
	)
	n := start(t)
	p := web("held")
	p.restart = "Never"
	p.init = []program{{name: "setup", args: []string{"exit", "5"}}}
	n.apply(p.yaml())
	got := n.wait("held", "phase Failed", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
	if waiting := containerStatus(got, "main").State.Waiting; waiting == nil || waiting.Reason != "PodInitializing" {
		t.Errorf("the main container is %+v, want it waiting for the init container", containerStatus(got, "main").State)
	}
}

func TestMissingImageIsReportedUntilTheManifestIsMended(t *testing.T) {
	claim.Shows(t, "Images", "an image that does not exist shows as ErrImagePull, and a corrected manifest runs")
	n := start(t)
	p := web("typo")
	p.apps[0].image = "nodal.test/no-such-image:1"
	n.apply(p.yaml())
	failed := n.wait("typo", "ErrImagePull", func(p *corev1.Pod) bool {
		w := containerStatus(p, "main").State.Waiting
		return w != nil && (w.Reason == "ErrImagePull" || w.Reason == "ImagePullBackOff")
	})
	if got, want := containerStatus(failed, "main").State.Waiting.Message, "no-such-image"; !strings.Contains(got, want) {
		t.Errorf("the message is %q, want the image named", got)
	}
	if failed.Status.Phase != corev1.PodPending {
		t.Errorf("the phase is %s, want Pending", failed.Status.Phase)
	}
	if got := n.curl("/v1/events?namespace=default&name=typo"); !strings.Contains(got.body, "EVENT_TYPE_WARNING") || !strings.Contains(got.body, "no-such-image") {
		t.Errorf("the events are %s, want a warning that names the image", got)
	}
	p.apps[0].image = ""
	n.apply(p.yaml())
	n.runsAndAnswers("typo")
}

func TestReadinessGatesAreOpenedByClients(t *testing.T) {
	claim.Shows(t, "Status and events",
		"a pod with readiness gates is ready once clients have opened all of them, and not ready when one is closed again",
		"a condition that a client has set survives a restart of the agent",
	)
	n := start(t)
	n.apply(strings.Replace(web("gated").yaml(), "spec:\n", "spec:\n  readinessGates: [{conditionType: example.com/warm}]\n", 1))
	n.wait("gated", "all but its gate", func(p *corev1.Pod) bool {
		return condition(p, corev1.ContainersReady) == corev1.ConditionTrue && condition(p, corev1.PodReady) == corev1.ConditionFalse
	})
	say := func(status string, want int) {
		t.Helper()
		said := fmt.Sprintf(`{"type": "example.com/warm", "status": %q, "reason": "Asked"}`, status)
		if got := n.curl("/v1/namespaces/default/pods/gated:setCondition", "-d", said); got.code != want {
			t.Errorf("say %s: got %s, want %d", status, got, want)
		}
	}
	say("maybe", 400)
	say("True", 200)
	n.waitRunning("gated")
	n.Kill()
	n.up()
	n.unmoved("gated")
	say("False", 200)
	n.wait("gated", "a shut gate", func(p *corev1.Pod) bool { return condition(p, corev1.PodReady) == corev1.ConditionFalse })
	if got := n.curlTLS("viewer", "/v1/namespaces/default/pods/gated:setCondition", "-d", "{}"); got.code != 403 {
		t.Errorf("a viewer says: got %s, want 403", got)
	}
}

func TestStatusIsWhatKubernetesReports(t *testing.T) {
	claim.Shows(t, "Status and events",
		"conditions, addresses, start time, QoS class and container statuses are those that Kubernetes reports",
		"a status and its conditions name the generation of the manifest that they are about",
	)
	n := start(t)
	began := time.Now().Truncate(time.Second)
	p := web("told")
	p.labels = map[string]string{"app": "told"}
	n.apply(p.yaml())
	got := n.waitRunning("told")
	for _, kind := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		if s := condition(got, kind); s != corev1.ConditionTrue {
			t.Errorf("condition %s is %q, want True", kind, s)
		}
	}
	s := containerStatus(got, "main")
	running := n.containers("told")
	if len(running) != 1 || s.ContainerID != "containerd://"+running[0].id {
		t.Errorf("the container's id is %q, want that of %+v", s.ContainerID, running)
	}
	if !s.Ready || s.Started == nil || !*s.Started || s.ImageID == "" || s.Image == "" {
		t.Errorf("the container's status is %+v, want it ready, started and with its image", s)
	}
	if got.Status.StartTime == nil || got.Status.StartTime.Time.Before(began) || got.Status.HostIP == "" || got.Status.QOSClass != corev1.PodQOSBestEffort {
		t.Errorf("the status is %+v, want start time, host address and QoS class", got.Status)
	}
	if got.Labels["app"] != "told" || got.Spec.NodeName != "node-a" || got.UID == "" {
		t.Errorf("the object is %+v, want its labels, node and UID", got.ObjectMeta)
	}
	if got.Generation != 1 || got.Status.ObservedGeneration != 1 {
		t.Errorf("generation %d is shown as %d, want 1", got.Generation, got.Status.ObservedGeneration)
	}
	p.labels["app"] = "changed"
	n.apply(p.yaml())
	changed := n.wait("told", "of another generation", func(p *corev1.Pod) bool { return p.Status.ObservedGeneration == 2 })
	for _, c := range changed.Status.Conditions {
		if c.ObservedGeneration != 2 || c.LastTransitionTime.IsZero() {
			t.Errorf("after a change condition %s is of generation %d, since %s", c.Type, c.ObservedGeneration, c.LastTransitionTime)
		}
	}
	if ip := fmt.Sprintf(`"podIP":%q`, got.Status.PodIP); !strings.Contains(n.curl("/pods").body, ip) {
		t.Errorf("/pods does not show %s", ip)
	}
}
