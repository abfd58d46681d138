package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/test/claim"
)

// active sets activeDeadlineSeconds in a manifest.
func active(manifest string, seconds int) string {
	return strings.Replace(manifest, "spec:\n", fmt.Sprintf("spec:\n  activeDeadlineSeconds: %d\n", seconds), 1)
}

// waitExceeded waits until a pod has failed, and fails unless its deadline was the reason.
func (n *node) waitExceeded(name string) *corev1.Pod {
	n.t.Helper()
	p := n.wait(name, name+" failed", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
	if s := p.Status; s.Reason != "DeadlineExceeded" || s.Message != "Pod was active on the node longer than the specified deadline" {
		n.t.Errorf("pod %s has failed with %q: %q, want DeadlineExceeded in Kubernetes' words", name, s.Reason, s.Message)
	}
	return p
}

func TestPodEndsAtItsDeadline(t *testing.T) {
	claim.Shows(t, "Pod lifecycle",
		"a pod that was active for longer than activeDeadlineSeconds fails with DeadlineExceeded, its containers end within the grace period",
		"a deadline added to a running pod counts from the pod's start, and restarts no container",
	)
	claim.Shows(t, "Restarts and faults", "a deadline that passes while the agent is down is enforced when it is back")
	n := start(t)
	polite := shell("polite", "trap 'exit 0' TERM; while :; do sleep 0.1; done")
	polite.grace = 20
	n.apply(web("limited").yaml())
	n.apply(polite.yaml())
	n.waitRunning("limited")
	started := n.waitRunning("polite").Status.StartTime
	deadline := 8 + int(time.Since(started.Time).Seconds()) // the time that the start took does not matter
	n.changed("/v1/manifests", active(polite.yaml(), deadline)).is(t, "UPDATED", "")
	n.Kill()
	due := started.Add(time.Duration(deadline) * time.Second)
	n.eventually("the deadline to pass", func() bool { return time.Now().After(due) })
	if got := n.containers("polite"); len(got) != 1 || !got[0].running {
		t.Errorf("while the agent is dead the runtime has %+v, want one that runs", got)
	}
	n.up()
	events := n.follow("/v1/events:watch")
	p := n.waitExceeded("polite")
	events.until(`"DeadlineExceeded"`)
	if s := containerStatus(p, "main"); s.State.Terminated == nil || s.State.Terminated.ExitCode != 0 || s.RestartCount != 0 {
		t.Errorf("the container is %+v, want it ended with code 0: it was asked to end", s)
	}

	n.changed("/v1/manifests", active(web("limited").yaml(), 600)).is(t, "UPDATED", "")
	if s := containerStatus(n.waitRunning("limited"), "main"); s.RestartCount != 0 {
		t.Errorf("with a deadline to come the container has %d restarts", s.RestartCount)
	}
	n.changed("/v1/manifests", active(web("limited").yaml(), 1)).is(t, "UPDATED", "")
	n.waitExceeded("limited")
	n.Kill()
	n.up()
	n.waitExceeded("limited")
	if running := n.running(); len(running) != 0 {
		t.Errorf("after the end of all pods %v runs", running)
	}
}
