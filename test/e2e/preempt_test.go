package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/test/agent"
	"nodal/test/claim"
)

// TestPodsMakeRoomForCriticalOnes uses a node with room for two pods.
func TestPodsMakeRoomForCriticalOnes(t *testing.T) {
	claim.Shows(t, "Admission",
		"a critical or static pod without room preempts other pods, best-effort ones first and no more than it takes: they fail as Preempting, and their DisruptionTarget says so",
		"it starts when these have ended, says so in its status until then, even through a kill of the agent, and the other pods run on",
		"the plan of a critical pod names the pods to preempt, and ends none",
		"a critical pod is refused if only critical ones could make room",
	)
	claim.Shows(t, "Stats and metrics", "kubelet_preemptions counts the pods preempted for critical ones, by the missing resource")
	n := prepare(t, func(c *agent.Config) {
		c.Settings["maxPods"] = 2
		c.Settings["staticPodPath"] = filepath.Join(c.Dir, "static")
	})
	n.up()
	slow := shell("batch", "trap 'sleep 2; exit 0' TERM; echo armed; while :; do sleep 0.1; done")
	slow.grace = 60
	n.apply(slow.yaml())
	n.apply(adding(web("web"), "resources: {requests: {cpu: 1m}}"))
	n.waitRunning("batch")
	n.logHas("batch", "armed")
	before := n.waitRunning("web")
	vital := func(name string) string {
		return strings.Replace(web(name).yaml(), "spec:\n", "spec:\n  priorityClassName: system-node-critical\n", 1)
	}

	const says = "pod default/batch has to end to make room for it"
	if plan := n.curl("/v1/manifests:plan", "--data-binary", vital("vital")); !strings.Contains(plan.body, says) {
		t.Errorf("the plan is %s, want %q in it", plan, says)
	}
	if p := n.get("batch"); !ready(p) {
		t.Errorf("after a plan batch is %+v, want it to run", p.Status)
	}
	if done := n.curl("/v1/manifests", "--data-binary", vital("vital")); !strings.Contains(done.body, says) {
		t.Errorf("the answer is %s, want %q in it", done, says)
	}
	if p := n.get("vital"); p.Status.Phase != corev1.PodPending || p.Status.Reason != "WaitingForRoom" {
		t.Errorf("meanwhile vital is %+v, want it to say what it waits for", p.Status)
	}
	if got := n.curl("/v1/events?namespace=default&name=batch").body; !strings.Contains(got, `"Preempting"`) {
		t.Errorf("no event reports it: %s", got)
	}
	if got := n.sample(n.metrics("/metrics"), "kubelet_preemptions", "preemption_signal", "pods"); got != 1 {
		t.Errorf("%v pods had to end, want one", got)
	}
	n.Kill()
	n.up()
	ended := n.preempted("batch")
	began := containerStatus(n.waitRunning("vital"), "main").State.Running.StartedAt
	if end := containerStatus(ended, "main").State.Terminated; end == nil || began.Before(&end.FinishedAt) {
		t.Errorf("vital began at %s, and batch is %+v", began, ended.Status)
	}
	if after := n.get("web"); !ready(after) || containerStatus(after, "main").ContainerID != containerStatus(before, "main").ContainerID {
		t.Errorf("web is %+v, want it to run on", after.Status)
	}

	n.file("node/static/static.yaml", web("static").yaml())
	n.waitRunning("static-node-a")
	n.preempted("web")
	n.apply(vital("third"))
	if p := n.wait("third", "refused", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed }); p.Status.Reason != "OutOfpods" {
		t.Errorf("a third critical pod has failed with %s, want OutOfpods", p.Status.Reason)
	}
	n.waitRunning("vital")
}

// TestARenamedStaticPodTakesItsHostPortOver checks that the renamed pod is not refused: no client
// would post it again.
func TestARenamedStaticPodTakesItsHostPortOver(t *testing.T) {
	claim.Shows(t, "Admission", "a renamed static pod waits until its former self has released the host port")
	n := prepare(t, func(c *agent.Config) { c.Settings["staticPodPath"] = filepath.Join(c.Dir, "static") })
	manifest := func(name string) string {
		p := shell(name, "trap 'sleep 4; exit 0' TERM; echo armed; while :; do sleep 0.1; done")
		p.grace = 60
		return adding(p, "ports:", "- containerPort: 8081", "  hostPort: 18081")
	}
	n.file("node/static/web.yaml", manifest("old"))
	n.up()
	n.waitRunning("old-node-a")
	n.logHas("old-node-a", "armed") // without its trap, the shell would use the whole of its grace period
	n.file("node/static/web.yaml", manifest("new"))
	waiting := n.wait("new-node-a", "to be there", func(*corev1.Pod) bool { return true })
	if waiting.Status.Phase != corev1.PodPending || waiting.Status.Reason != "WaitingForRoom" {
		t.Errorf("the renamed pod is %+v, want it to wait for the other", waiting.Status)
	}
	n.waitRunning("new-node-a")
	n.waitGone("old-node-a")
}

// preempted waits until a pod has failed because it was preempted.
func (n *node) preempted(name string) *corev1.Pod {
	n.t.Helper()
	p := n.wait(name, name+" to have failed", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
	disrupted := slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue && c.Reason == corev1.PodReasonTerminationByKubelet
	})
	if p.Status.Reason != "Preempting" || p.Status.Message != "Preempted in order to admit critical pod" || !disrupted {
		n.t.Errorf("%s has failed with %+v, want Preempting and DisruptionTarget", name, p.Status)
	}
	return p
}
