package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/test/agent"
	"nodal/test/claim"
)

// after has the pod of a manifest start after others.
func after(manifest, names string) string {
	return strings.Replace(manifest, "metadata:\n", "metadata:\n  annotations: {nodal.node/after: '"+names+"'}\n", 1)
}

// waitWaiting waits until a pod waits for others in certain words.
func (n *node) waitWaiting(name, words string) {
	n.t.Helper()
	n.wait(name, name+" waits for others", func(p *corev1.Pod) bool {
		return p.Status.Phase == corev1.PodPending && p.Status.Reason == "WaitingForPods" && p.Status.Message == words
	})
}

func TestPodsStartAfterThoseThatTheyName(t *testing.T) {
	claim.Shows(t, "Pod lifecycle",
		"a pod starts after the pods that its annotation names are ready, and says which of them it waits for",
		"a static pod starts after a posted one, also after a start of the agent",
		"pods that would wait for each other are refused, and nothing of their bundle is taken",
	)
	n := prepare(t, func(c *agent.Config) { c.Settings["staticPodPath"] = filepath.Join(c.Dir, "static") })
	n.file("node/static/last.yaml", after(web("last").yaml(), "default/web"))
	n.up()
	events := n.follow("/v1/events:watch")
	n.apply(after(web("web").yaml(), "default/db"))
	n.waitWaiting("web", "it starts after default/db (this node does not have it)")
	events.until(`"WaitingForPods"`)
	n.waitWaiting("last-node-a", "it starts after default/web (it is not ready)")

	db := shell("db", "while :; do sleep 0.1; done")
	n.apply(adding(db, "readinessProbe: {exec: {command: [test, -f, /open]}, periodSeconds: 1}"))
	n.waitWaiting("web", "it starts after default/db (it is not ready)")
	n.Kill()
	n.up()
	n.waitWaiting("web", "it starts after default/db (it is not ready)")
	if got := n.containers("web"); len(got) != 0 {
		t.Errorf("while it waits the runtime has %+v of it", got)
	}

	circle := after(web("red").yaml(), "default/blue") + "---\n" + after(web("blue").yaml(), "default/red")
	if got := n.curl("/v1/manifests", "--data-binary", circle); got.code != 400 || !strings.Contains(got.body, "would wait for each other: default/red after default/blue after default/red") {
		t.Errorf("a circle: got %s, want 400 and the pods in it", got)
	}
	if got := n.curl("/v1/manifests", "--data-binary", after(db.yaml(), "default/last-node-a")); got.code != 400 || !strings.Contains(got.body, "default/db after default/last-node-a after default/web after default/db") {
		t.Errorf("a circle through a static pod: got %s, want 400 and the pods in it", got)
	}

	n.wait("db", "db runs", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning })
	n.exec(&nodev1.ExecStart{Namespace: "default", Name: "db", Container: "main", Command: []string{"touch", "/open"}}, "")
	began := func(name string) *corev1.Pod {
		return n.wait(name, name+" is ready", func(p *corev1.Pod) bool { return containerStatus(p, "main").Ready })
	}
	first, second := began("web"), began("last-node-a")
	if a, b := containerStatus(first, "main").State.Running, containerStatus(second, "main").State.Running; b.StartedAt.Before(&a.StartedAt) {
		t.Errorf("last began at %s, before web at %s", b.StartedAt, a.StartedAt)
	}
}
