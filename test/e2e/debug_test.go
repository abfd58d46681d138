package e2e

import (
	"strings"
	"testing"

	"nodal/test/agent"
	"nodal/test/claim"
)

func TestDebugPathsDescribeTheAgent(t *testing.T) {
	claim.Shows(t, "Stats and metrics",
		"/statusz and /flagz describe the agent, as text or as JSON, and an admin reads its profiles",
		"the log verbosity of a running agent changes by the node's API or the kubelet's path, and each JSON line names pod, UID, container and attempt",
	)
	n := start(t, func(c *agent.Config) {
		c.Settings["logging"] = map[string]any{"format": "json", "verbosity": 0}
		c.Flags = append(c.Flags, "--v=0")
	})
	for path, want := range map[string]string{
		"/statusz":                       "\nUp: 0 hr 00 min",
		"/flagz":                         "\nlogging-format=json\n",
		"/debug/pprof/goroutine?debug=1": "goroutine profile: total",
	} {
		if got := n.curl(path); got.code != 200 || !strings.Contains(got.body, want) {
			t.Errorf("%s: got %s, want 200 with %q", path, got, want)
		}
	}
	if got := n.curl("/statusz", "-H", "Accept: application/json;v=v1alpha1;g=config.k8s.io;as=Statusz"); got.code != 200 || !strings.Contains(got.body, `"kind":"Statusz"`) {
		t.Errorf("/statusz as JSON: got %s", got)
	}
	if got := n.curlTLS("operator", "/debug/pprof/heap"); got.code != 403 {
		t.Errorf("profiles for an operator: got %s, want 403", got)
	}
	n.apply(web("quiet").yaml())
	n.waitRunning("quiet")
	if strings.Contains(n.Log(), `"did action"`) {
		t.Errorf("it logs actions before the verbosity is raised")
	}
	if got := n.curl("/debug/flags/v", "-X", "PUT", "-d", "4"); got.code != 200 || !strings.Contains(got.body, "verbosity to 4") {
		t.Errorf("more: got %s, want 200", got)
	}
	n.apply(web("loud").yaml())
	uid := n.waitRunning("loud").UID
	n.eventually("a line about the container that it has started", func() bool {
		for line := range strings.Lines(n.Log()) {
			if strings.Contains(line, `"action":"start main`) && strings.Contains(line, `"pod":"default/loud","uid":"`+string(uid)+`"`) &&
				strings.Contains(line, `"container":"main","attempt":0`) {
				return true
			}
		}
		return false
	})
	if got := n.curl("/v1/node/loglevel"); got.code != 200 || got.body != `{"verbosity":4}`+"\n" {
		t.Errorf("the level: got %s, want 4", got)
	}
	if got := n.curlTLS("operator", "/v1/node/loglevel", "-X", "PUT", "-d", `{"verbosity": 9}`); got.code != 403 {
		t.Errorf("a level from an operator: got %s, want 403", got)
	}
	if got := n.grpcurl("node.v1.NodeService/SetLogLevel", `{"verbosity": 0}`); !strings.Contains(got.body, `"previous": 4`) {
		t.Errorf("less, by gRPC: got %s, want that it was 4", got)
	}
	if got := n.curl("/portForward/default/loud"); got.code != 400 {
		t.Errorf("a forwarded port without an upgrade: got %s, want 400", got)
	}
	n.eventually("what a library says of that, in the same form", func() bool {
		return strings.Contains(n.Log(), `"level":"ERROR","msg":"Unhandled Error","err":"unable to upgrade`)
	})
}
