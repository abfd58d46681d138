package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"nodal/test/agent"
	"nodal/test/claim"
)

func TestEveryReadAnswers(t *testing.T) {
	claim.Shows(t, "Status and events",
		"every read of the REST API and of the kubelet's paths answers",
		"lists are selected by labels and fields",
		"gRPC has health and reflection",
	)
	n := start(t)
	p := web("shown")
	p.labels = map[string]string{"app": "web"}
	n.apply(bundle(p, web("other")))
	n.waitRunning("shown")
	n.waitRunning("other")
	for _, c := range []struct {
		path  string
		holds []string
		not   string
	}{
		{"/", []string{"GET    /v1/pods", "/runningpods/"}, ""},
		{"/healthz", []string{"ok"}, ""},
		{"/healthz?verbose", []string{"[+]ping ok", "[+]syncloop ok", "healthz check passed"}, ""},
		{"/healthz/syncloop", []string{"ok"}, ""},
		{"/configz", []string{`"kubeletconfig"`, `"maxPods":250`, n.PodLogs()}, ""},
		{"/openapi.json", []string{`"openapi"`, "/v1/manifests", "/containerLogs/"}, ""},
		{"/pods", []string{`"kind":"PodList"`, `"name":"shown"`, `"phase":"Running"`}, ""},
		{"/runningpods/", []string{`"kind":"PodList"`, `"name":"shown"`, `"name":"main"`}, ""},
		{"/v1/node", []string{`"name":"node-a"`, `"ready":true`, `"containerd"`, `"source`, `"running":2`}, ""},
		{"/v1/node/capabilities", []string{`"spec.containers.image"`, "SUPPORT_HONOURED", "SUPPORT_REFUSED"}, ""},
		{"/v1/pods", []string{`"shown"`, `"other"`}, ""},
		{"/v1/pods?labelSelector=app%3Dweb", []string{`"shown"`}, `"other"`},
		{"/v1/pods?fieldSelector=metadata.name%3Dother", []string{`"other"`}, `"shown"`},
		{"/v1/namespaces/default/pods", []string{`"shown"`}, ""},
		{"/v1/namespaces/elsewhere/pods", nil, `"shown"`},
		{"/v1/namespaces/default/pods/shown", []string{`"POD_PHASE_RUNNING"`, `"ready":true`, `"podIP"`}, ""},
	} {
		got := n.curl(c.path)
		if got.code != http.StatusOK || c.not != "" && strings.Contains(got.body, c.not) {
			t.Errorf("%s: got %s, want 200 and no %q", c.path, got, c.not)
		}
		for _, text := range c.holds {
			if !strings.Contains(got.body, text) {
				t.Errorf("%s: got %s, want %s in it", c.path, got, text)
			}
		}
	}
	if got := n.curl("/healthz", "-I"); got.code != 200 {
		t.Errorf("HEAD /healthz: got %s, want 200", got)
	}
	if got := n.grpcurl("grpc.health.v1.Health/Check", "{}"); !strings.Contains(got.body, "SERVING") {
		t.Errorf("gRPC health: got %s, want SERVING", got)
	}
	list := n.runGrpcurl("", "-plaintext", "-unix", n.Socket, "list")
	for _, service := range []string{"Manifests", "Pods", "Logs", "Exec", "Events", "Node"} {
		if !strings.Contains(list.body, "node.v1."+service+"Service") {
			t.Errorf("reflection lists %s, want %s among it", list, service)
		}
	}
}

func TestNodeReportsPressure(t *testing.T) {
	claim.Shows(t, "Status and events", "the node is under pressure if less memory, disk space or process IDs are left than evictionHard demands")
	n := start(t, func(c *agent.Config) {
		c.Settings["evictionHard"] = map[string]string{"memory.available": "0%", "nodefs.available": "0%", "pid.available": "99.99%"}
	})
	n.eventually("the node says what it runs short of", func() bool { // after its first look at all signals
		got := n.curl("/v1/node").body
		return !slices.ContainsFunc([]string{
			`"type":"MemoryPressure","status":"False","reason":"KubeletHasSufficientMemory"`,
			`"type":"DiskPressure","status":"False","reason":"KubeletHasNoDiskPressure"`,
			`"type":"PIDPressure","status":"True","reason":"KubeletHasInsufficientPID","message":"kubelet has insufficient PID available: pid.available"`,
		}, func(want string) bool { return !strings.Contains(got, want) })
	})
}

func TestReadOnlyPortReadsOnly(t *testing.T) {
	claim.Shows(t, "Access", "the read-only port reads a fixed list and changes nothing")
	n := prepare(t, func(c *agent.Config) { c.Ports.ReadOnly = c.Ports.Secure + 2 })
	n.up()
	n.apply(web("shown").yaml())
	n.waitRunning("shown")
	base := "http://" + n.address(n.Ports.ReadOnly)
	for path, want := range map[string]int{
		"/pods": 200, "/healthz": 200, "/v1/pods": 200, "/v1/node": 200,
		"/runningpods/": 405, "/containerLogs/default/shown/main": 405, "/configz": 404,
		"/v1/namespaces/default/pods/shown/containers/main/logs": 404, "/v1/pods:watch": 404,
	} {
		if got := n.runCurl([]string{base + path}); got.code != want {
			t.Errorf("GET %s: got %s, want %d", path, got, want)
		}
	}
	for path, args := range map[string][]string{
		"/v1/manifests":                                         {"--data-binary", web("more").yaml()},
		"/v1/namespaces/default/pods/shown":                     {"-X", "DELETE"},
		"/run/default/shown/main":                               {"-X", "POST", "-d", "cmd=true"},
		"/v1/namespaces/default/pods/shown:restart":             {"-d", "{}"},
		"/v1/namespaces/default/pods/shown/containers/main:run": {"-d", "{}"},
	} {
		if got := n.runCurl(append(args, base+path)); got.code != 404 && got.code != 405 {
			t.Errorf("change %s: got %s, want 404 or 405", path, got)
		}
	}
	if got := n.curl("/v1/pods"); strings.Contains(got.body, `"more"`) || !strings.Contains(got.body, `"shown"`) {
		t.Errorf("the pods are %s, want shown alone", got)
	}
}

func TestHealthzPortServesHealthAlone(t *testing.T) {
	claim.Shows(t, "Access", "the healthz port serves health only")
	n := start(t)
	base := "http://" + n.address(n.Ports.Healthz)
	if got := n.runCurl([]string{base + "/healthz"}); got.code != 200 || got.body != "ok" {
		t.Errorf("/healthz: got %s, want 200 ok", got)
	}
	for _, path := range []string{"/pods", "/v1/pods", "/configz"} {
		if got := n.runCurl([]string{base + path}); got.code != 404 {
			t.Errorf("%s: got %s, want 404", path, got)
		}
	}
}
