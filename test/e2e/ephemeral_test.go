package e2e

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/test/claim"
)

// debugged adds ephemeral containers to a manifest. Each runs a script that looks into the
// container main.
func debugged(manifest string, names ...string) string {
	manifest += "  ephemeralContainers:\n"
	for _, name := range names {
		manifest += fmt.Sprintf(`  - name: %s
    image: nodal.test/busybox:1
    targetContainerName: main
    env: [{name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]
    command: [sh, -c, "echo $POD; exec sleep 1000"]
`, name)
	}
	return manifest
}

func TestEphemeralContainersLookIntoARunningPod(t *testing.T) {
	claim.Shows(t, "Containers",
		"an ephemeral container is added to a running pod in place, sees the processes of its target, and has logs and exec",
		"an ephemeral container is never changed, removed or part of a new pod",
		"an ephemeral container is started once: neither after its end nor by the next agent again",
	)
	n := start(t)
	plain := shell("watched", "echo here > /tmp/mark; exec sleep 1000").yaml()
	if got := n.curl("/v1/manifests", "--data-binary", debugged(plain, "early")); got.code != 400 || !strings.Contains(got.body, "spec.ephemeralContainers") {
		t.Errorf("a new pod with one: got %s, want 400 and the field", got)
	}
	n.apply(plain)
	before := containerStatus(n.waitRunning("watched"), "main")

	n.apply(debugged(plain, "look"))
	runs := func(name string) func(*corev1.Pod) bool {
		return func(p *corev1.Pod) bool { return containerStatus(p, name).State.Running != nil && ready(p) }
	}
	got := n.wait("watched", "the ephemeral container", runs("look"))
	if after := containerStatus(got, "main"); after.ContainerID != before.ContainerID || after.RestartCount != 0 {
		t.Errorf("the container main is %+v, want it as before", after)
	}
	seen := n.exec(&nodev1.ExecStart{Namespace: "default", Name: "watched", Container: "look", Command: []string{"cat", "/proc/1/root/tmp/mark"}}, "")
	if seen != (execution{"here\n", "", 0}) {
		t.Errorf("it sees %+v, want a file of the container that it looks into", seen)
	}
	if got := n.curl("/containerLogs/default/watched/look"); got.code != 200 || got.body != "watched\n" {
		t.Errorf("its log: got %s, want the name of the pod", got)
	}

	for manifest, want := range map[string]string{
		debugged(plain, "other"): "may not be removed",
		strings.Replace(debugged(plain, "look"), "echo $POD", "true", 1): "may not be changed",
	} {
		if got := n.curl("/v1/manifests", "--data-binary", manifest); got.code != 400 || !strings.Contains(got.body, want) {
			t.Errorf("got %s, want 400 and %q", got, want)
		}
	}
	if got := n.curl("/v1/manifests", "--data-binary", plain); got.code != 200 || !strings.Contains(got.body, "RESULT_UNCHANGED") {
		t.Errorf("a manifest that does not speak of it: got %s, want it unchanged", got)
	}

	n.killContainer("watched", "look")
	n.wait("watched", "its end", func(p *corev1.Pod) bool { return containerStatus(p, "look").State.Terminated != nil && ready(p) })
	n.Kill()
	n.up()
	n.apply(debugged(plain, "look", "again"))
	got = n.wait("watched", "another one", runs("again"))
	if ended := containerStatus(got, "look").State.Terminated; ended == nil || ended.ExitCode != 137 {
		t.Errorf("the first one is %+v, want it ended with code 137", containerStatus(got, "look").State)
	}
	if made := n.containers("watched"); len(made) != 3 {
		t.Errorf("the runtime has %+v, want one run of each container", made)
	}
	n.deletePod("watched", "")
	if left := n.containers("watched"); len(left) != 0 {
		t.Errorf("the deleted pod left %+v", left)
	}
}
