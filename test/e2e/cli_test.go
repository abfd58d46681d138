package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nodal/test/claim"
)

// verb runs a verb of the binary on the node's socket. It has to succeed.
func (n *node) verb(args ...string) string {
	n.t.Helper()
	out, failed, code := n.tryVerb(args...)
	if code != 0 {
		n.t.Fatalf("kubelet %s: got code %d\n%s%s", strings.Join(args, " "), code, out, failed)
	}
	return out
}

// tryVerb runs a verb of the binary on the node's socket.
func (n *node) tryVerb(args ...string) (out, failed string, code int) {
	n.t.Helper()
	// The flag stands before what follows "--", which is a command.
	return n.command("", n.Binary, append([]string{args[0], "--socket", n.Socket}, args[1:]...)...)
}

func TestTheCommandLineShowsANode(t *testing.T) {
	claim.Shows(t, "Ways in",
		"kubelet get, describe and events show pods, objects, images, events and the node as tables, JSON, YAML, names or by JSONPath",
		"the command line reaches a node by its socket, by URL and token, or by a context that keeps both for its owner alone",
	)
	n := start(t)
	p := web("web")
	p.labels = map[string]string{"app": "web"}
	n.apply(p.yaml())
	n.apply("apiVersion: v1\nkind: Secret\nmetadata: {name: key}\nstringData: {password: open sesame}\n")
	n.waitRunning("web")
	n.wait("web", "web is ready", ready)
	for _, c := range []struct{ args, want string }{
		{"get pods", "web   1/1    Running"},
		{"get pods -A -l app=web", "default    web   1/1"},
		{"get web -o wide", "nodal.test/probe:1"},
		{"get pod/web -o yaml", "kind: Pod"},
		{"get pods -o json", `"kind": "List"`},
		{"get web -o jsonpath={.status.phase}", "Running"},
		{"get nodes", "node-a  Ready"},
		{"get secrets", "password"},
		{"get secrets -o yaml", "password: b3BlbiBzZXNhbWU="},
		{"get claims", ""},
		{"get volumes", ""},
		{"get events -A", "Started"},
		{"events web", "Started"},
		{"describe pod web", "    State:       running for"},
		{"describe secret key", "Keys:            password\nUsed by:         <none>"},
		{"images ls", "nodal.test/probe:1"},
		{"describe image nodal.test/probe:1", "Used by:         default/web"},
		{"images pulls", ""},
	} {
		if got := n.verb(strings.Fields(c.args)...); !strings.Contains(got, c.want) {
			t.Errorf("kubelet %s: got\n%s\nwant %q in it", c.args, got, c.want)
		}
	}
	if got := n.verb("describe", "secret", "key"); strings.Contains(got, "b3Blb") || strings.Contains(got, "sesame") {
		t.Errorf("describe shows the value of a Secret:\n%s", got)
	}
	if got := n.verb("get", "secrets"); strings.Contains(got, "b3Blb") || strings.Contains(got, "sesame") {
		t.Errorf("a table shows the value of a Secret:\n%s", got)
	}
	if _, failed, code := n.tryVerb("get", "pods", "nope"); code != 1 || !strings.Contains(failed, "kubelet get pods -A") {
		t.Errorf("a pod that is not there: got %d, %q", code, failed)
	}
	n.byContext()
}

// byContext reaches the node over TLS.
func (n *node) byContext() {
	n.t.Helper()
	home := n.t.TempDir()
	run := func(args ...string) (string, string, int) {
		return n.command("", "env", append([]string{"XDG_CONFIG_HOME=" + home, n.Binary}, args...)...)
	}
	url, token := "https://"+n.secure(), n.Credential("viewer.token")
	if out, failed, code := run("get", "pods", "--node", url, "--token-file", token, "--ca", n.CA()); code != 0 || !strings.Contains(out, "web") {
		n.t.Errorf("by URL: got %d, %q\n%s", code, failed, out)
	}
	if _, failed, code := run("get", "pods", "--node", url, "--token-file", token); code != 1 || !strings.Contains(failed, "give its authority with --ca") {
		n.t.Errorf("without the authority: got %d, %q", code, failed)
	}
	if _, failed, code := run("get", "pods", "--node", url, "--token", "wrong", "--ca", n.CA()); code != 1 || !strings.Contains(failed, "token may be revoked") {
		n.t.Errorf("with a wrong token: got %d, %q", code, failed)
	}
	for _, args := range [][]string{
		{"context", "add", "edge", "--node", url, "--token-file", token, "--ca", n.CA()}, {"context", "use", "edge"}, {"get", "pods"},
		{"get", "secrets", "-o", "yaml"},
	} {
		out, failed, code := run(args...)
		if code != 0 || args[0] == "get" && args[1] == "pods" && !strings.Contains(out, "web") || strings.Contains(out, "b3Blb") {
			n.t.Errorf("kubelet %v: got %d, %q\n%s", args, code, failed, out)
		}
	}
	info, err := os.Stat(filepath.Join(home, "nodal", "contexts.yaml"))
	if err != nil || info.Mode().Perm() != 0o600 {
		n.t.Errorf("the file of contexts: got %v, %v, want mode 0600", info, err)
	}
}
