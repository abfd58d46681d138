package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nodal/test/agent"
	"nodal/test/claim"
)

// A directory holds a pod and what it uses, the pod first by name.
func TestAPodFindsTheObjectsOfTheFilesBesideIt(t *testing.T) {
	claim.Shows(t, "Ways in",
		"ConfigMaps, Secrets and the other kinds may stand in files of the manifest directory, in any order; pods see their changes",
		"an object of a file is changed in its file alone: the API refuses that and names the file",
		"an object whose file is gone goes, also if the file went while no agent ran; pods keep what they have of it",
	)
	n := prepare(t, func(c *agent.Config) {
		c.Flags = append(c.Flags, "--pod-manifest-path", filepath.Join(c.Dir, "manifests"))
	})
	const settings = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {mode: fast}\n"
	remove := func(name string) {
		if err := os.Remove(filepath.Join(n.rt.Dir, "node/manifests", name)); err != nil {
			t.Fatal(err)
		}
	}
	gone := func(path string) {
		n.eventually(path+" is pruned", func() bool { return n.curl(path).code == http.StatusNotFound })
	}
	const settingsPath, loginPath = "/v1/namespaces/default/objects/configmaps/settings", "/v1/namespaces/default/objects/secrets/login"

	n.file("node/manifests/a.yaml", adding(shell("web", "exec sleep 1000"),
		"env: [{name: PASSWORD, valueFrom: {secretKeyRef: {name: login, key: password}}}]",
		"volumeMounts: [{name: config, mountPath: /config}]",
	)+"  volumes: [{name: config, configMap: {name: settings}}]\n")
	n.file("node/manifests/b.yaml", settings)
	n.file("node/manifests/c.yaml", "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Secret\n  metadata: {name: login}\n  stringData: {password: tr0ub4dor}\n")
	n.up()
	first := n.waitRunning("web-node-a")
	mode := func() string { return n.inside("web-node-a", "main", "cat /config/mode") }
	if env := n.environ("web-node-a", "main"); env["PASSWORD"] != "tr0ub4dor" || mode() != "fast" {
		t.Errorf("the pod has PASSWORD=%q and mode %q, want those of the files", env["PASSWORD"], mode())
	}

	n.file("node/manifests/b.yaml", strings.Replace(settings, "fast", "slow", 1))
	n.eventually("the volume shows the changed file", func() bool { return mode() == "slow" })
	if got := n.curl(settingsPath, "-X", "DELETE"); got.code != http.StatusConflict || !strings.Contains(got.body, "manifests/b.yaml") {
		t.Errorf("delete over the API: got %s, want 409 with the file", got)
	}

	remove("c.yaml")
	gone(loginPath)
	n.Kill()
	remove("b.yaml")
	n.up()
	gone(settingsPath)
	again := n.waitRunning("web-node-a")
	if got, want := containerStatus(again, "main").ContainerID, containerStatus(first, "main").ContainerID; got != want || mode() != "slow" {
		t.Errorf("without the objects the pod runs %s with mode %q, want %s with slow", got, mode(), want)
	}
}
