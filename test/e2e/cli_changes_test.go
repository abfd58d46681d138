package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nodal/test/claim"
)

func TestTheCommandLineChangesPods(t *testing.T) {
	claim.Shows(t, "Ways in",
		"kubelet apply, plan, diff and delete take files, directories and standard input, and diff shows both values of each changed field",
		"kubelet wait ends when pods are ready, deleted or have succeeded, and at once when that cannot come any more",
		"kubelet restart restarts the containers of a pod, which stays",
		"kubelet cordon has the node refuse new pods, until kubelet uncordon",
	)
	n := start(t)
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {colour: red}\n"
	write("pod.yaml", shell("web", "exec sleep 1000").yaml())
	write("config.yaml", config)
	expect := func(code int, want string, args ...string) {
		t.Helper()
		if out, failed, got := n.tryVerb(args...); got != code || !strings.Contains(out+failed, want) {
			t.Errorf("kubelet %s: got %d\n%s%s\nwant %d and %q", strings.Join(args, " "), got, out, failed, code, want)
		}
	}
	expect(3, "created  Pod        default    web", "plan", "-f", dir, "--exit-code")
	expect(1, "pod default/web is not there", "wait", "web")
	expect(0, "configmap/settings created\npod/web created\n", "apply", "-f", dir)
	expect(0, "", "wait", "web", "--timeout", "60s")
	if !n.isReady("web") {
		t.Error("wait has ended, and the pod is not ready")
	}
	expect(0, "unchanged", "apply", "-f", dir)
	expect(0, "", "diff", "-f", dir, "--exit-code")
	write("config.yaml", strings.Replace(config, "red", "blue", 1))
	expect(3, "configmap/settings would be updated\n  data[colour]\n    - red\n    + blue\n", "diff", "-f", dir, "--exit-code")
	out, failed, code := n.command(strings.Replace(config, "red", "green", 1), n.Binary, "apply", "--socket", n.Socket, "-f", "-")
	if code != 0 || out != "configmap/settings updated\n" {
		t.Errorf("from standard input: got %d, %q, %q", code, out, failed)
	}
	expect(1, "did you mean command?", "apply", "-f", n.file("bad.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {containers: [{name: a, image: b, comand: [c]}]}\n"))

	uid := n.verb("get", "web", "-o", "jsonpath={.metadata.uid}")
	expect(0, "pod/web restarts within 1s", "restart", "web")
	n.eventually("the container has restarted", func() bool {
		return n.verb("get", "web", "-o", "jsonpath={.status.containerStatuses[0].restartCount}") == "1"
	})
	if again := n.verb("get", "web", "-o", "jsonpath={.metadata.uid}"); again != uid {
		t.Errorf("the pod has become another: %s, %s", uid, again)
	}
	for name, script := range map[string]string{"good": "exit 0", "bad": "exit 3"} {
		job := shell(name, script)
		job.restart = "Never"
		n.apply(job.yaml())
	}
	expect(0, "", "wait", "good", "--for", "succeeded", "--timeout", "60s")
	expect(1, "pod default/bad has failed", "wait", "bad", "--for", "succeeded", "--timeout", "60s")
	expect(1, "not deleted after 1s\npod default/web is Running", "wait", "web", "--for", "deleted", "--timeout", "1s")

	expect(0, "pod/good deleted\npod/bad deleted\n", "delete", "good", "bad")
	expect(0, "", "wait", "good", "--for=deleted")
	expect(0, "configmap/settings deleted", "delete", "configmap", "settings")
	expect(0, "pod/web deleted", "delete", "-f", filepath.Join(dir, "pod.yaml"))
	expect(1, "pod default/web: not found", "get", "web")
	expect(0, "nothing of it is there", "delete", "-f", dir)

	expect(0, "takes no new pods", "cordon", "--reason", "a new disk")
	expect(0, "Ready,Cordoned", "get", "nodes")
	expect(1, "the node is cordoned (a new disk)", "apply", "-f", filepath.Join(dir, "pod.yaml"))
	expect(0, "takes new pods", "uncordon")
	expect(0, "created", "plan", "-f", filepath.Join(dir, "pod.yaml"))
}

// isReady asks whether a pod is ready.
func (n *node) isReady(name string) bool {
	n.t.Helper()
	return n.verb("get", name, "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].status}`) == "True"
}
