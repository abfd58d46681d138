package e2e

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/test/agent"
	"nodal/test/claim"
)

// adding inserts lines into the manifest of a pod's container.
func adding(p pod, lines ...string) string {
	return p.yaml() + "    " + strings.Join(lines, "\n    ") + "\n"
}

func TestPodsThatDoNotFitFail(t *testing.T) {
	claim.Shows(t, "Admission",
		"a pod that asks for more than the node has fails with OutOfcpu and the amounts",
		"a pod that wants a taken host port fails with NodePorts and names the port's owner",
		"a pod that asks for too much memory fails with OutOfmemory, and one beyond the number of pods with OutOfpods",
		"a host port leads to its container",
		"a pod for another system fails with PodOSNotSupported",
		"a pod whose nodeSelector or required affinity names other labels fails with NodeAffinity",
		"node labels given by flag and the usual ones are matched by a nodeSelector",
		"a refused pod that is applied again is judged again, and runs once there is room",
	)
	n := start(t, func(c *agent.Config) {
		c.Flags = append(c.Flags, "--node-labels", "disk=ssd")
		c.Settings["maxPods"] = 3
	})
	refused := func(name, reason, message string) {
		t.Helper()
		p := n.wait(name, name+" refused", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
		if p.Status.Reason != reason || !strings.Contains(p.Status.Message, message) {
			t.Errorf("%s: got %s, %q; want %s with %q", name, p.Status.Reason, p.Status.Message, reason, message)
		}
	}
	port := []string{"ports:", "- containerPort: 8080", "  hostPort: 18080"}
	n.apply(adding(web("first"), port...))
	n.apply(strings.Replace(web("placed").yaml(), "spec:\n", "spec:\n  nodeSelector: {disk: ssd, kubernetes.io/hostname: node-a}\n", 1))

	n.apply(adding(web("big"), "resources: {requests: {cpu: 1000}}"))
	refused("big", "OutOfcpu", "Node didn't have enough resource: cpu, requested: 1000000")
	n.apply(adding(web("second"), port...))
	refused("second", "NodePorts", "pod default/first has host port 18080/TCP")
	n.apply(strings.Replace(web("elsewhere").yaml(), "spec:\n", "spec:\n  nodeSelector: {disk: hdd}\n", 1))
	refused("elsewhere", "NodeAffinity", "didn't match")

	n.apply(strings.Replace(web("windows").yaml(), "spec:\n", "spec:\n  os: {name: windows}\n", 1))
	refused("windows", "PodOSNotSupported", "the OS field doesn't match node OS")

	n.apply(adding(web("heavy"), "resources: {requests: {memory: 1000Ti}}"))
	refused("heavy", "OutOfmemory", "Node didn't have enough resource: memory")
	affine := func(name, value string) string {
		return strings.Replace(web(name).yaml(), "spec:\n", "spec:\n  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "+
			"[{matchExpressions: [{key: disk, operator: In, values: ["+value+"]}]}]}}}\n", 1)
	}
	n.apply(affine("far", "hdd"))
	refused("far", "NodeAffinity", "didn't match")
	n.apply(affine("near", "ssd"))
	n.waitRunning("near")
	n.apply(web("fourth").yaml())
	refused("fourth", "OutOfpods", "requested: 1, used: 3, capacity: 3")

	n.waitRunning("first")
	n.waitRunning("placed")
	if got := n.answer("127.0.0.1:18080"); got != "first\n" {
		t.Errorf("the host port answers %q, want first", got)
	}
	if got := n.curl("/v1/events"); !strings.Contains(got.body, `"OutOfcpu"`) {
		t.Errorf("no event says OutOfcpu: %s", got.body)
	}
	// The obstacle goes, and the client posts again.
	n.curl("/v1/namespaces/default/pods/first", "-X", "DELETE")
	n.waitGone("first")
	n.apply(adding(web("second"), port...))
	n.waitRunning("second")
}
