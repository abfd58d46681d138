package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nodal/test/agent"
	"nodal/test/claim"
)

func TestTheLogsOfTheMachineAreReadThroughTheNode(t *testing.T) {
	claim.Shows(t, "Logs",
		"an admin reads files beneath /var/log on the kubelet's path /logs/, and nothing that a link there leads to",
		"upstream's queries for the logs of services work on /logs/ if enableSystemLogQuery is on",
		"an admin reads and follows the logs of the agent, its runtime, the kernel and systemd's units by the node's API",
	)
	n := start(t, func(c *agent.Config) { c.Settings["enableSystemLogQuery"] = true })
	dir := logDirOfTest(t)
	name := filepath.Base(dir)
	write := func(file, text string) {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(name+".log", "a line of the service\n")
	write("other.log", "another file\n")
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	n.curl("/v1/pods") // so that the agent has something to log
	for path, want := range map[string]answer{
		"/logs/" + name + "/":                            {code: 200, body: "other.log"},
		"/logs/" + name + "/other.log":                   {code: 200, body: "another file\n"},
		"/logs/" + name + "/out":                         {code: 403},
		"/logs/?query=" + name:                           {code: 200, body: "a line of the service\n"},
		"/logs/?query=/" + name + "/other.log":           {code: 200, body: "another file\n"},
		"/logs/?query=" + name + "&tailLines=1":          {code: 200, body: "try without specifying options"},
		"/logs/?query=" + name + "%3Breboot":             {code: 406, body: "unsupported characters"},
		"/logs/?query=/" + name + "/../../../etc/passwd": {code: 406},
	} {
		if got := n.curl(path); got.code != want.code || !strings.Contains(got.body, want.body) || strings.Contains(got.body, "root:") {
			t.Errorf("%s: got %s, want %d with %q", path, got, want.code, want.body)
		}
	}
	if got := n.curlTLS("operator", "/logs/"); got.code != 403 {
		t.Errorf("/logs/ for an operator: got %s, want 403", got)
	}
	if got := n.curl("/v1/node/logs"); got.code != 200 || !strings.Contains(got.body, `"name":"agent"`) || !strings.Contains(got.body, `"name":"kernel"`) {
		t.Errorf("the list: got %s", got)
	}
	if got := n.curl("/v1/node/logs/kernel?tailLines=3"); got.code != 200 || strings.Count(got.body, "\n") > 3 {
		t.Errorf("the kernel's log: got %s, want at most three lines", got)
	}
	if got := n.curl("/v1/node/logs/agent?pattern=msg%3Dstarted&tailLines=1"); got.code != 200 || !strings.Contains(got.body, "msg=started") || strings.Count(got.body, "\n") != 1 {
		t.Errorf("the agent's log: got %s, want the line that it has started", got)
	}
	if got := n.grpcurl("node.v1.NodeLogsService/ReadNodeLog", `{"source": "agent", "follow": true, "tail_lines": 2, "limit_bytes": 20}`); !strings.Contains(got.body, `"data"`) {
		t.Errorf("the agent's log, followed for twenty bytes by gRPC: got %s", got)
	}
	if got := n.curl("/v1/node/logs/none.service"); got.code != 404 {
		t.Errorf("a unit that there is not: got %s, want 404", got)
	}
}

// logDirOfTest makes a directory below /var/log.
func logDirOfTest(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/log", "nodal-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
