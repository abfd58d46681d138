package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/test/agent"
	"nodal/test/claim"
)

// priorityClass returns the manifest of a class.
func priorityClass(name, value string, more ...string) string {
	text := "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: " + name + "}\nvalue: " + value + "\n"
	return text + strings.Join(append(more, ""), "\n")
}

func TestPodsHaveThePriorityOfTheirClass(t *testing.T) {
	claim.Shows(t, "Admission",
		"a pod has the priority and the preemption policy of its posted PriorityClass, of the default one or of the system's, and keeps them when the class is gone",
		"a pod of a PriorityClass that is not there, or with another priority than that of its class, is refused at its field",
		"a PriorityClass takes no name or value of the system's, and its value never changes",
		"a static pod runs though its PriorityClass is not there",
	)
	n := prepare(t, func(c *agent.Config) { c.Settings["staticPodPath"] = filepath.Join(c.Dir, "static") })
	of := func(name, class string) string { return web(name).yaml() + "  priorityClassName: " + class + "\n" }
	n.file("node/static/fixed.yaml", of("fixed", "absent"))
	n.up()
	n.waitRunning("fixed-node-a")
	for _, c := range []struct{ name, manifest, field string }{
		{"no such class", of("early", "high"), "spec.priorityClassName"},
		{"a number that is not the class's", of("vital", "system-node-critical") + "  priority: 5\n", "spec.priority"},
		{"a class of the system", priorityClass("system-node-critical", "2000001000"), "metadata.name"},
		{"a value of the system", priorityClass("high", "1000000001"), "value"},
	} {
		if got := n.curl("/v1/manifests", "--data-binary", c.manifest); got.code != 400 || !strings.Contains(got.body, `: `+c.field+`"`) {
			t.Errorf("%s: got %s, want 400 and %s", c.name, got, c.field)
		}
	}

	n.apply(of("high", "high") + "---\n" + priorityClass("high", "1000", "preemptionPolicy: Never"))
	n.apply(priorityClass("usual", "7", "globalDefault: true"))
	n.apply(web("plain").yaml())
	n.apply(of("vital", "system-node-critical"))
	n.ranks("high", "high", 1000, corev1.PreemptNever)
	n.ranks("plain", "usual", 7, corev1.PreemptLowerPriority)
	n.ranks("vital", "system-node-critical", 2_000_001_000, corev1.PreemptLowerPriority)
	if got := n.curl("/v1/manifests", "--data-binary", priorityClass("high", "1001")); got.code != 400 || !strings.Contains(got.body, `: value"`) {
		t.Errorf("another value: got %s, want 400 and value", got)
	}
	if got := n.curl("/v1/objects/priorityclasses/high", "-X", "DELETE"); got.code != 200 {
		t.Errorf("delete the class: got %s", got)
	}
	n.Kill()
	n.up()
	if got := n.curl("/v1/manifests", "--data-binary", of("high", "high")); got.code != 200 || !strings.Contains(got.body, "RESULT_UNCHANGED") {
		t.Errorf("the pod without its class: got %s, want it unchanged", got)
	}
	n.ranks("high", "high", 1000, corev1.PreemptNever)
}

// ranks checks the priority of a pod that runs.
func (n *node) ranks(pod, class string, priority int32, policy corev1.PreemptionPolicy) {
	n.t.Helper()
	spec := n.waitRunning(pod).Spec
	if spec.PriorityClassName != class || spec.Priority == nil || *spec.Priority != priority || *spec.PreemptionPolicy != policy {
		n.t.Errorf("pod %s has class %q, priority %v and policy %v, want %q, %d and %s",
			pod, spec.PriorityClassName, spec.Priority, spec.PreemptionPolicy, class, priority, policy)
	}
}
