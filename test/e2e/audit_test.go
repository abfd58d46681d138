package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/remotecommand"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node/audit"
	"nodal/test/agent"
	"nodal/test/claim"
	"nodal/test/pace"
)

// auditLog returns the entries of the node's audit log, with its older files.
func (n *node) auditLog() (all []audit.Entry) {
	n.t.Helper()
	path := filepath.Join(n.Root(), "audit", "audit.log")
	for _, name := range []string{path + ".2", path + ".1", path} {
		text, err := os.ReadFile(name)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			n.t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if e, ok := audit.Parse([]byte(strings.TrimSpace(line))); ok {
				all = append(all, e)
			}
		}
	}
	return all
}

// audited waits for the two entries of a request that is selected, and returns the last.
func (n *node) audited(what string, is func(audit.Entry) bool) (done audit.Entry) {
	n.t.Helper()
	n.eventually("the audit log has "+what, func() bool {
		begun := map[string]bool{}
		for _, e := range n.auditLog() {
			begun[e.ID] = begun[e.ID] || e.Stage == audit.Received
			if e.Stage == audit.Done && begun[e.ID] && is(e) {
				done = e
				return true
			}
		}
		return false
	})
	return done
}

// auditedMethod waits for the entries of a method.
func (n *node) auditedMethod(method string) audit.Entry {
	n.t.Helper()
	return n.audited(method, func(e audit.Entry) bool { return strings.HasSuffix(e.Method, method) })
}

func TestEachChangeIsInTheAuditLog(t *testing.T) {
	claim.Shows(t, "Access",
		"each change is in the audit log, before it and after it, with the caller and the object, whatever the transport",
		"a command is in the audit log by its hash, with its exit code, over gRPC, REST, a WebSocket and SPDY",
		"an admin's reading of a Secret is in the audit log, and what a viewer is denied",
		"admins read and follow the audit log over the API",
	)
	n := start(t)
	n.apply(shell("box", "exec sleep 1000").yaml())
	uid := string(n.waitRunning("box").UID)
	if e := n.auditedMethod("ManifestsService/Apply"); e.User != "uid:0" || e.Via != "socket" || e.From != "socket" ||
		len(e.Objects) != 1 || e.Objects[0].UID != uid || e.Outcome != "OK" {
		t.Errorf("REST on the socket: got %+v, want the pod %s", e, uid)
	}
	n.curlTLS("operator", "/v1/namespaces/default/configmaps/c", "-X", "PUT", "--data-binary",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: b}}")
	if e := n.auditedMethod("PutConfigMap"); e.User != "operator" || e.Via != "token" || !strings.HasPrefix(e.From, "127.0.0.1:") ||
		e.Object.Name != "c" || e.Object.UID == "" {
		t.Errorf("REST over TLS: got %+v", e)
	}
	n.grpcurlTLS("operator", "node.v1.ConfigMapsService/DeleteConfigMap", `{"namespace": "default", "name": "c"}`)
	if e := n.auditedMethod("DeleteConfigMap"); e.User != "operator" || !strings.HasPrefix(e.From, "127.0.0.1:") || e.Object.UID == "" {
		t.Errorf("gRPC over TLS: got %+v", e)
	}
	n.grpcurl("node.v1.PodsService/RestartPod", `{"namespace": "default", "name": "box"}`)
	if e := n.auditedMethod("RestartPod"); e.User != "uid:0" || e.Object.UID != uid {
		t.Errorf("gRPC on the socket: got %+v", e)
	}
	n.wait("box", "a second run", func(p *corev1.Pod) bool { // commands would end with the first
		s := containerStatus(p, "main")
		return s.RestartCount == 1 && s.State.Running != nil
	})
	n.runsAudited(uid)
	n.secretsAudited()
	n.curl("/debug/flags/v", "-X", "PUT", "-d", "4")
	if e := n.auditedMethod("PUT /debug/flags/v"); e.Outcome != "200" || e.Object.Kind != "Node" {
		t.Errorf("a path of the kubelet: got %+v", e)
	}
	n.auditShown(uid)
}

// runsAudited runs a command by each transport and looks for its entries.
func (n *node) runsAudited(uid string) {
	t, command := n.t, []string{"sh", "-c", "exit 7"}
	n.exec(&nodev1.ExecStart{Namespace: "default", Name: "box", Container: "main", Command: command}, "")
	n.curl("/v1/namespaces/default/pods/box/containers/main:run", "-d", n.jsonOf(map[string]any{"command": command}))
	config, address := n.streaming("/exec/default/box/main?command=sh&command=-c&command=exit+7&output=1")
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		executor, err := remotecommand.NewSPDYExecutor(config, method, address)
		if method == http.MethodGet {
			executor, err = remotecommand.NewWebSocketExecutor(config, method, address.String())
		}
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), pace.Of(patience))
		err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: io.Discard})
		cancel()
		if err == nil || !strings.Contains(err.Error(), "7") {
			t.Errorf("%s: got %v, want the exit code 7", method, err)
		}
	}
	want := *audit.CommandOf(command)
	for _, method := range []string{"ExecService/Exec", "ExecService/Run", "GET /exec/default/box/main", "POST /exec/default/box/main"} {
		e := n.auditedMethod(method)
		if e.Command == nil || *e.Command != want || e.ExitCode == nil || *e.ExitCode != 7 || e.Object.UID != uid || e.Container != "main" {
			t.Errorf("%s: got %+v, want its command by its hash, and 7", method, e)
		}
	}
	n.curl("/run/default/box/main", "-d", "cmd=true -x")
	if e := n.auditedMethod("POST /run/default/box/main"); e.Command == nil || *e.Command != *audit.CommandOf([]string{"true", "-x"}) {
		t.Errorf("/run: got %+v", e)
	}
}

func (n *node) secretsAudited() {
	t := n.t
	n.apply("{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {password: hunter2}}")
	if got := n.curlTLS("admin", "/v1/namespaces/default/secrets/s"); got.code != 200 {
		t.Fatalf("read a Secret: %s", got)
	}
	if e := n.auditedMethod("GetSecret"); e.Verb != audit.Secrets || e.User != "admin" || e.Object.Name != "s" {
		t.Errorf("a Secret that an admin reads: got %+v", e)
	}
	n.curlTLS("viewer", "/v1/objects/secrets?values=true")
	if e := n.auditedMethod("ListObjects"); e.User != "viewer" || e.Decision != audit.Denied || e.Outcome != "PermissionDenied" {
		t.Errorf("values that a viewer asks for: got %+v", e)
	}
	n.curlTLS("viewer", "/v1/namespaces/default/secrets/s", "-X", "DELETE")
	n.curlTLS("", "/pods")
	n.eventually("what was refused", func() bool {
		text := fmt.Sprint(n.auditLog())
		return strings.Contains(text, "/node.v1.SecretsService/DeleteSecret") && strings.Contains(text, "GET /pods")
	})
	text, err := os.ReadFile(filepath.Join(n.Root(), "audit", "audit.log"))
	if err != nil || strings.Contains(string(text), "hunter2") || strings.Contains(string(text), "exit 7") {
		t.Errorf("the log holds a Secret or a command (%v):\n%s", err, text)
	}
}

// auditShown reads and follows the log over the API.
func (n *node) auditShown(uid string) {
	t := n.t
	ctx, cancel := context.WithTimeout(t.Context(), pace.Of(patience))
	defer cancel()
	watch, err := nodev1.NewAuditServiceClient(n.conn).WatchAuditEntries(ctx, &nodev1.WatchAuditEntriesRequest{Kind: "Pod", Name: "box"})
	if err != nil {
		t.Fatal(err)
	}
	for synced, deleted := false, false; !deleted; {
		message, err := watch.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if e := message.GetEntry(); e == nil && !synced {
			synced = true
			n.deletePod("box", "")
		} else if synced && strings.HasSuffix(e.GetMethod(), "DeletePod") && e.GetObject().GetUid() == uid {
			deleted = true
		}
	}
	if got := n.curlTLS("admin", "/v1/audit?kind=Pod&name=box&verb=exec"); got.code != 200 || strings.Count(got.body, `"exitCode":7`) < 4 {
		t.Errorf("the commands in the pod: got %s", got)
	}
	if got := n.curlTLS("operator", "/v1/audit"); got.code != 403 {
		t.Errorf("the log for an operator: got %s, want 403", got)
	}
}

func TestWithoutAnAuditLogNothingChanges(t *testing.T) {
	claim.Shows(t, "Access",
		"while the audit log cannot be written, changes and commands are refused and reads go on; once it can be, all goes on without a restart",
		"a full disk refuses no deletion and no revocation, and each has its entries",
		"a crash between the entries of a request leaves one without an outcome, and the next agent goes on in the same file",
		"the audit log is rotated by size and bounded in number",
	)
	n := prepare(t, func(c *agent.Config) { c.Flags = append(c.Flags, "--audit-log-maxsize=1", "--audit-log-maxbackup=1") })
	dir := filepath.Join(n.Root(), "audit")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=2m"); err != nil {
		t.Fatal(err)
	}
	mounted := true
	unmount := func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
		mounted = false
	}
	t.Cleanup(func() {
		if mounted {
			unmount()
		}
	})
	n.up()
	n.apply(shell("box", "exec sleep 1000").yaml())
	n.waitRunning("box")
	n.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: large}}")
	filler := fill(t, dir)
	refused := answer{}
	for range 1000 { // until the last page of the file is full
		if refused = n.curl("/v1/node/loglevel", "-X", "PUT", "-d", `{"verbosity": 2}`); refused.code != 200 {
			break
		}
	}
	if refused.code != 503 || !strings.Contains(refused.body, "no space left on device; the node changes nothing") {
		t.Fatalf("a change on a full disk: got %s, want 503 and what to do", refused)
	}
	for _, got := range []answer{
		n.curl("/v1/manifests", "--data-binary", web("late").yaml()),
		n.curl("/v1/namespaces/default/pods/box:restart", "-X", "POST", "-d", "{}"),
		n.curl("/run/default/box/main", "-d", "cmd=true"),
		n.curl("/exec/default/box/main?command=true&output=1"),
	} {
		if got.code != 503 {
			t.Errorf("got %s, want 503", got)
		}
	}
	if got := n.grpcurl("node.v1.PodsService/RestartPod", `{"namespace": "default", "name": "box"}`); !strings.Contains(got.body, "Unavailable") {
		t.Errorf("over gRPC: got %s, want Unavailable", got)
	}
	for range 500 { // more than was reserved
		if got := n.curl("/v1/tokens/none", "-X", "DELETE"); got.code != 404 {
			t.Fatalf("a revocation on a full disk: got %s, want that there is no such token", got)
		}
	}
	if got := n.curl("/v1/namespaces/default/configmaps/large", "-X", "DELETE"); got.code != 200 {
		t.Errorf("a deletion on a full disk: got %s", got)
	}
	for _, path := range []string{"/v1/pods", "/pods", "/v1/audit", "/containerLogs/default/box/main"} {
		if got := n.curl(path); got.code != 200 {
			t.Errorf("%s: got %s, want 200", path, got)
		}
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	n.apply(web("late").yaml())
	n.waitRunning("late")
	n.eventually("the number of lost entries", func() bool {
		for _, e := range n.auditLog() {
			if e.Stage == audit.LeftOut && e.LeftOut >= 5 {
				return true
			}
		}
		return false
	})
	n.auditedMethod("ConfigMapsService/DeleteConfigMap")
	unmount() // the path leads to another directory now
	n.curl("/v1/node/loglevel", "-X", "PUT", "-d", `{"verbosity": 2}`)
	n.auditedMethod("SetLogLevel")
	n.cutOffAndRotated()
}

// cutOffAndRotated kills the agent during a command, and then fills the log.
func (n *node) cutOffAndRotated() {
	t := n.t
	client := exec.CommandContext(t.Context(), "curl", "-s", "--unix-socket", n.Socket, "http://localhost/run/default/box/main", "-d", "cmd=sleep 1000")
	if err := client.Start(); err != nil {
		t.Fatal(err)
	}
	n.eventually("the command has begun", func() bool { return strings.Contains(fmt.Sprint(n.auditLog()), "POST /run/default/box/main") })
	n.Kill()
	_ = client.Wait() // its connection broke
	n.up()
	path := filepath.Join(n.Root(), "audit", "audit.log")
	full := strings.Repeat(strings.Repeat("x", 1023)+"\n", 1024)
	if err := os.WriteFile(path+".1", []byte(full), 0o600); err != nil {
		t.Fatal(err)
	}
	open, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open.WriteString(`{"time":"2026-05-01T12:00:00Z","stage":"do`); err != nil { // a cut line
		t.Fatal(err)
	}
	if err := open.Close(); err != nil {
		t.Fatal(err)
	}
	n.Kill()
	n.up()
	n.curl("/v1/node/loglevel", "-X", "PUT", "-d", `{"verbosity": 3}`)
	begun, ended := 0, 0
	for _, e := range n.auditLog() {
		if strings.Contains(e.Method, "/run/default/box/main") {
			begun, ended = begun+1, ended+len(e.Outcome)
		}
	}
	if begun != 1 || ended != 0 {
		t.Errorf("the command that the crash cut off has %d entries, want one without an outcome", begun)
	}
	if got := n.curl("/v1/audit?verb=admin"); got.code != 200 || !strings.Contains(got.body, "SetLogLevel") {
		t.Errorf("behind a cut line: got %s", got)
	}
	if err := os.WriteFile(path, []byte(full), 0o600); err != nil {
		t.Fatal(err)
	}
	n.Kill()
	n.up()
	n.curl("/v1/node/loglevel", "-X", "PUT", "-d", `{"verbosity": 2}`)
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(files) != 3 {
		t.Errorf("after a rotation there are %v, %v; want the file, one backup and the spare room", files, err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() > 64<<10 || info.Mode().Perm() != 0o600 {
		t.Errorf("the new file: %v, %v", info, err)
	}
}
