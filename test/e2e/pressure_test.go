package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/test/agent"
	"nodal/test/claim"
)

// TestANodeThatRunsShortRefusesNewPods sets thresholds above what the machine has left, while pods
// run. They are soft, and their grace does not end.
func TestANodeThatRunsShortRefusesNewPods(t *testing.T) {
	claim.Shows(t, "Admission",
		"a node under memory pressure refuses new best-effort pods with Evicted and the condition, and accepts pods with requests or a toleration",
		"a node under disk or PID pressure refuses all new pods except static and critical ones",
		"a node below a soft threshold leaves running pods alone until its grace period ends, and the plan of a new one says that it would fail",
		"a pod that was refused under pressure runs when it is applied again afterwards",
	)
	n := prepare(t, func(c *agent.Config) { c.Settings["staticPodPath"] = filepath.Join(c.Dir, "static") })
	enough := map[string]string{}
	// again starts the agent with other thresholds, and waits for the node's conditions.
	again := func(soft map[string]string, conditions ...string) {
		t.Helper()
		n.Kill()
		grace := map[string]string{}
		for signal := range soft {
			grace[signal] = "1h"
		}
		n.Settings["evictionSoft"], n.Settings["evictionSoftGracePeriod"] = soft, grace
		n.up()
		n.eventually("the node says that it runs short or not", func() bool {
			told := n.curl("/v1/node").body
			for _, c := range conditions {
				kind, status, _ := strings.Cut(c, "=")
				if !strings.Contains(told, `"type":"`+kind+`","status":"`+status+`"`) {
					return false
				}
			}
			return true
		})
	}
	refused := func(name, conditions string) {
		t.Helper()
		n.apply(web(name).yaml())
		p := n.wait(name, name+" refused", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
		if want := "Pod was rejected: The node had condition: [" + conditions + "]. "; p.Status.Reason != "Evicted" || p.Status.Message != want {
			t.Errorf("%s: got %s, %q; want Evicted, %q", name, p.Status.Reason, p.Status.Message, want)
		}
	}
	inSpec := func(name, line string) string {
		return strings.Replace(web(name).yaml(), "spec:\n", "spec:\n  "+line+"\n", 1)
	}
	n.up()
	n.apply(web("early").yaml())
	n.waitRunning("early")

	again(map[string]string{"memory.available": "99.9%"}, "MemoryPressure=True", "DiskPressure=False", "PIDPressure=False")
	plan := n.curl("/v1/manifests:plan", "--data-binary", web("best").yaml())
	if want := "the node refuses the pod, Evicted: Pod was rejected: The node had condition: [MemoryPressure]. "; !strings.Contains(plan.body, want) {
		t.Errorf("the plan is %s, want %q in it", plan, want)
	}
	refused("best", "MemoryPressure")
	n.apply(adding(web("burstable"), "resources: {requests: {cpu: 1m}}"))
	n.apply(inSpec("tolerant", "tolerations: [{key: node.kubernetes.io/memory-pressure, operator: Exists}]"))
	n.waitRunning("burstable")
	n.waitRunning("tolerant")

	again(map[string]string{"nodefs.available": "99.9%", "pid.available": "99.99%"}, "MemoryPressure=False", "DiskPressure=True", "PIDPressure=True")
	refused("worst", "DiskPressure PIDPressure")
	n.apply(inSpec("critical", "priorityClassName: system-node-critical"))
	n.waitRunning("critical")
	n.file("node/static/static.yaml", web("static").yaml())
	n.waitRunning("static-node-a")
	if got := n.curl("/v1/events?namespace=default&name=worst").body; !strings.Contains(got, `"Evicted"`) {
		t.Errorf("no event reports it: %s", got)
	}

	again(enough, "MemoryPressure=False", "PIDPressure=False")
	n.apply(web("best").yaml())
	n.waitRunning("best")
	if p := n.waitRunning("early"); containerStatus(p, "main").RestartCount != 0 {
		t.Errorf("the pod that ran before was restarted: %+v", p.Status)
	}
}
