package e2e

import (
	"os"
	"strings"
	"testing"

	"nodal/node/manifest/rules"
	"nodal/test/agent"
	"nodal/test/claim"
)

func TestRolesLimitWhatCallersMayDo(t *testing.T) {
	claim.Shows(t, "Access",
		"viewer, operator and admin have the rights of their role, by token and by client certificate",
		"a caller without or with a wrong credential is answered 401, and Unauthenticated over gRPC",
		"a viewer can neither run a command nor apply, on any path",
		"a viewer gets no plan: it would confirm a guess at a hidden value",
	)
	n := start(t)
	n.apply(web("guarded").yaml())
	n.waitRunning("guarded")
	const pod = "/v1/namespaces/default/pods/guarded"
	for _, c := range []struct {
		name                    string
		path                    string
		args                    []string
		viewer, operator, admin int
	}{
		{"read", "/v1/pods", nil, 200, 200, 200},
		{"read on a kubelet path", "/pods", nil, 200, 200, 200},
		{"read a log", "/containerLogs/default/guarded/main", nil, 200, 200, 200},
		{"plan", "/v1/manifests:plan", []string{"--data-binary", web("guarded").yaml()}, 403, 200, 200},
		{"apply", "/v1/manifests", []string{"--data-binary", web("guarded").yaml()}, 403, 200, 200},
		{"run", pod + "/containers/main:run", []string{"-d", `{"command": ["/probe", "exit", "0"]}`}, 403, 200, 200},
		{"run on a kubelet path", "/run/default/guarded/main", []string{"-d", "cmd=/probe exit 0"}, 403, 200, 200},
		{"attach", "/attach/default/guarded/main?output=1", nil, 403, 400, 400},
		{"forward a port", "/portForward/default/guarded", nil, 403, 400, 400},
		{"restart a missing pod", "/v1/namespaces/default/pods/nobody:restart", []string{"-d", "{}"}, 403, 404, 404},
		{"delete a missing pod", "/v1/namespaces/default/pods/nobody", []string{"-X", "DELETE"}, 403, 404, 404},
	} {
		for role, want := range map[string]int{"viewer": c.viewer, "operator": c.operator, "admin": c.admin} {
			if got := n.curlTLS(role, c.path, c.args...); got.code != want {
				t.Errorf("%s as %s: got %s, want %d", c.name, role, got, want)
			}
			certificate := append(c.args, "--cert", n.Credential(role+".crt"), "--key", n.Credential(role+".key"))
			if got := n.curlTLS("", c.path, certificate...); got.code != want {
				t.Errorf("%s with the certificate of %s: got %s, want %d", c.name, role, got, want)
			}
		}
		if got := n.curlTLS("", c.path, c.args...); got.code != 401 {
			t.Errorf("%s without a credential: got %s, want 401", c.name, got)
		}
		if got := n.curlTLS("", c.path, append(c.args, "-H", "Authorization: Bearer wrong")...); got.code != 401 {
			t.Errorf("%s with a wrong token: got %s, want 401", c.name, got)
		}
	}
	message := n.jsonOf(map[string]string{"manifest": web("guarded").yaml()})
	if got := n.grpcurlTLS("viewer", "node.v1.ManifestsService/Apply", message); !strings.Contains(got.body, "PermissionDenied") {
		t.Errorf("apply over gRPC as viewer: got %s, want PermissionDenied", got)
	}
	if got := n.runGrpcurl("{}", "-cacert", n.CA(), "-d", "@", n.secure(), "node.v1.PodsService/ListPods"); !strings.Contains(got.body, "Unauthenticated") {
		t.Errorf("list over gRPC without a credential: got %s, want Unauthenticated", got)
	}
}

func TestViewersSeeNoValuesInEnvironments(t *testing.T) {
	claim.Shows(t, "Access", "a viewer and the read-only port see no value of a pod's environment, and cannot apply what they see")
	n := prepare(t, func(c *agent.Config) { c.Ports.ReadOnly = c.Ports.Secure + 2 })
	n.up()
	const word = "hunter2"
	env := "    env: [{name: WORD, value: " + word + "}]\n"
	plain := shell("telling", "[ ${#WORD} = 7 ] && exec sleep 1000").yaml() + env +
		"  initContainers:\n  - name: first\n    image: nodal.test/busybox:1\n    command: ['true']\n" + env
	n.apply(plain)
	n.waitRunning("telling")
	n.apply(plain + "  ephemeralContainers:\n  - name: look\n    image: nodal.test/busybox:1\n    command: [sleep, '1000']\n" + env)

	const one = "/v1/namespaces/default/pods/telling"
	readOnly := "http://" + n.address(n.Ports.ReadOnly)
	certificate := []string{"--cert", n.Credential("viewer.crt"), "--key", n.Credential("viewer.key")}
	hidden := map[string]answer{
		"/pods":              n.curlTLS("viewer", "/pods"),
		"/v1/pods":           n.curlTLS("viewer", "/v1/pods"),
		"one pod":            n.curlTLS("viewer", one),
		"a certificate":      n.curlTLS("", "/pods", certificate...),
		"gRPC":               n.grpcurlTLS("viewer", "node.v1.PodsService/ListPods", "{}"),
		"the read-only port": n.runCurl([]string{readOnly + "/pods"}),
		"its API":            n.runCurl([]string{readOnly + one}),
	}
	for from, got := range hidden {
		if strings.Contains(got.body, word) || strings.Count(got.body, rules.Hidden) != 3 {
			t.Errorf("%s: got %s, want three values hidden", from, got)
		}
	}
	if got := n.curlTLS("viewer", "/runningpods/"); strings.Contains(got.body, word) || !strings.Contains(got.body, "telling") {
		t.Errorf("/runningpods/: got %s, want the pod without the value", got)
	}
	for _, role := range []string{"operator", "admin"} {
		if got := n.curlTLS(role, "/pods"); strings.Count(got.body, `"`+word+`"`) != 3 {
			t.Errorf("/pods as %s: got %s, want three values", role, got)
		}
	}
	got := n.curl("/v1/manifests", "--data-binary", hidden["/pods"].body)
	if got.code != 400 || !strings.Contains(got.body, "spec.containers[0].env[0].value") {
		t.Errorf("apply what a viewer was shown: got %s, want 400 and the field", got)
	}
}

func TestCredentialsAreReadableByTheirOwnerOnly(t *testing.T) {
	claim.Shows(t, "Access", "only their owner can read credentials and keys, and its group the socket")
	n := start(t)
	for _, role := range []string{"admin", "operator", "viewer"} {
		for _, kind := range []string{".token", ".key"} {
			info, err := os.Stat(n.Credential(role + kind))
			if err != nil {
				t.Fatal(err)
			}
			if got := info.Mode().Perm(); got != 0o600 {
				t.Errorf("%s has mode %o, want 600", info.Name(), got)
			}
		}
	}
	info, err := os.Stat(n.Socket)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o660 {
		t.Errorf("the socket has mode %o, want 660", got)
	}
}

func TestConfiguredAuthenticationHolds(t *testing.T) {
	claim.Shows(t, "Access",
		"anonymous access and AlwaysAllow work when configured, and a token that means nothing is anybody's then, as upstream",
		"the log says at the start that every caller is admin",
	)
	n := prepare(t, func(c *agent.Config) {
		c.Settings["authentication"] = map[string]any{"anonymous": map[string]any{"enabled": true}}
		c.Settings["authorization"] = map[string]any{"mode": "AlwaysAllow"}
	})
	n.up()
	if log := n.Log(); !strings.Contains(log, "every caller that reaches the port is admin, without a credential") {
		t.Errorf("the log does not say that every caller is admin:\n%s", log)
	}
	if got := n.curlTLS("", "/v1/manifests", "--data-binary", web("open").yaml()); got.code != 200 {
		t.Errorf("anonymous apply with AlwaysAllow: got %s, want 200", got)
	}
	if got := n.curlTLS("", "/pods", "-H", "Authorization: Bearer wrong"); got.code != 200 {
		t.Errorf("with a token that means nothing: got %s, want 200 as without one", got)
	}
}
