package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/test/claim"
	"nodal/test/pace"
)

// obedient runs until it finds an exit code in a file, and exits with 0 at SIGTERM.
const obedient = "trap 'exit 0' TERM; until [ -e /code ]; do sleep 0.1; done; exit $(cat /code)"

// end makes the obedient container main of a pod exit with a code.
func (n *node) end(pod string, code int) {
	n.t.Helper()
	n.do(pod, fmt.Sprintf("echo %d > /tmp/code; mv /tmp/code /code", code))
}

// again waits until the container main of a pod runs after this many restarts.
func (n *node) again(pod string, restarts int32) *corev1.Pod {
	n.t.Helper()
	return n.wait(pod, fmt.Sprintf("restart %d of %s", restarts, pod), func(p *corev1.Pod) bool {
		s := containerStatus(p, "main")
		return s.RestartCount == restarts && s.State.Running != nil
	})
}

func TestExitCodeRulesDecideTheRestart(t *testing.T) {
	claim.Shows(t, "Containers",
		"restart rules by exit code, In and NotIn, override restart policies; the first match counts",
		"a restart rule without the container's own restartPolicy is refused",
	)
	n := start(t)
	p := shell("ruled", obedient)
	p.restart = "OnFailure"
	rules := "restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [42, 43]}}, {action: Restart, exitCodes: {operator: NotIn, values: [0, 3, 42]}}]"
	if got := n.curl("/v1/manifests", "--data-binary", adding(p, rules)); got.code != 400 || !strings.Contains(got.body, "spec.containers[0].restartPolicy") {
		t.Errorf("rules without a policy: got %s, want 400 that names the restartPolicy", got)
	}
	n.apply(adding(p, "restartPolicy: Never", rules))
	n.again("ruled", 0)
	n.end("ruled", 43)
	n.again("ruled", 1)
	n.end("ruled", 3)
	got := n.wait("ruled", "its end", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
	if s := containerStatus(got, "main"); s.RestartCount != 1 || s.State.Terminated.ExitCode != 3 {
		t.Errorf("the container is %+v, want its end with code 3 after one restart", s)
	}
}

func TestContainerThatAProbeEndsIsRestartedUnderOnFailure(t *testing.T) {
	claim.Shows(t, "Probes", "under OnFailure a container that its liveness probe has ended is restarted, even if it exits with 0")
	n := start(t)
	p := shell("polite", obedient)
	p.restart, p.grace = "OnFailure", 20
	n.apply(adding(p, "livenessProbe: {exec: {command: [test, '!', -f, /hung]}, periodSeconds: 1, failureThreshold: 1, timeoutSeconds: 10}"))
	n.again("polite", 0)
	n.do("polite", "touch /hung")
	last := containerStatus(n.again("polite", 1), "main").LastTerminationState.Terminated
	if last == nil || last.ExitCode != 0 {
		t.Errorf("the run that hung ended as %+v, want code 0: it was asked to end", last)
	}
	n.end("polite", 0)
	got := n.wait("polite", "its end", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodSucceeded })
	if s := containerStatus(got, "main"); s.RestartCount != 1 {
		t.Errorf("the container has %d restarts, want 1: it ended well by itself", s.RestartCount)
	}
}

func TestOneContainerRestartsAll(t *testing.T) {
	claim.Shows(t, "Containers",
		"a rule with RestartAllContainers restarts all containers in the same sandbox, init containers first, the others without their grace period",
	)
	n := start(t)
	p := shell("team", obedient)
	p.restart, p.grace = "Never", 40
	p.init = []program{busybox("setup", "true"), busybox("proxy", "trap '' TERM; while :; do sleep 0.1; done")}
	p.apps = []program{busybox("done", "exit 0"), p.apps[0]}
	n.apply(own(adding(p,
		"restartPolicy: Never", "restartPolicyRules: [{action: RestartAllContainers, exitCodes: {operator: In, values: [42]}}]",
	), "proxy", "Always"))
	before := n.again("team", 0)
	n.end("team", 42)
	began := time.Now()
	got := n.wait("team", "all restarted", func(p *corev1.Pod) bool {
		return containerStatus(p, "main").State.Running != nil && slices.Equal(restartCounts(p), []int32{1, 1, 1, 1})
	})
	if took := time.Since(began); took > pace.Of(20*time.Second) {
		t.Errorf("all restarted after %s, want them not to wait for the grace period", took)
	}
	if got.UID != before.UID || got.Status.PodIP != before.Status.PodIP || n.sandboxes("team") != 1 {
		t.Errorf("the pod is %s at %s in %d sandboxes, want %s at %s in one", got.UID, got.Status.PodIP, n.sandboxes("team"), before.UID, before.Status.PodIP)
	}
	if last := containerStatus(got, "proxy").LastTerminationState.Terminated; last == nil || last.ExitCode != 137 {
		t.Errorf("the sidecar ended as %+v, want it killed", last)
	}
	if setup, main := containerStatus(got, "setup").State.Terminated, containerStatus(got, "main").State.Running; setup == nil || main.StartedAt.Before(&setup.FinishedAt) {
		t.Errorf("main has started at %s, want it after the init container: %+v", main.StartedAt, setup)
	}
	if c := condition(got, corev1.AllContainersRestarting); c != corev1.ConditionFalse {
		t.Errorf("AllContainersRestarting is %q, want False", c)
	}
	n.end("team", 42)
	n.wait("team", "a pause before the next time", func(p *corev1.Pod) bool {
		w := containerStatus(p, "main").State.Waiting
		return w != nil && w.Reason == "CrashLoopBackOff" && containerStatus(p, "proxy").RestartCount == 2 && containerStatus(p, "proxy").Ready
	})
}

func restartCounts(p *corev1.Pod) []int32 {
	var counts []int32
	for _, list := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
		for _, s := range list {
			counts = append(counts, s.RestartCount)
		}
	}
	return counts
}
