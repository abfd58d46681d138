package server

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	entries "nodal/node/audit"
	"nodal/server/audit"
)

func TestAnEntryStandsBeforeAChangeAndOneAfterIt(t *testing.T) {
	n, file := newAudited(t, true)
	key := node.Key{Namespace: "default", Name: "web"}
	file.before = func(e entries.Entry) {
		if _, there := n.store.View(key); there != (e.Stage == entries.Done) {
			t.Errorf("at the entry %q the pod is there: %t", e.Stage, there)
		}
	}
	n.apply(t, manifestOf("web"))
	file.before = nil
	received, done := file.pair(t)
	web := entries.Object{Kind: "Pod", Namespace: "default", Name: "web"}
	if received.Decision != entries.Allowed || len(received.Objects) != 1 || received.Objects[0] != web || received.From == "" {
		t.Errorf("received: %+v, want the pod without a UID", received)
	}
	if got := done.Objects; done.Outcome != "OK" || len(got) != 1 || got[0].UID != "uid-1" || got[0].Revision == 0 {
		t.Errorf("done: %+v, want the pod's new UID", done)
	}
	n.do(t, "DELETE", "/v1/namespaces/default/pods/web", "")
	received, done = file.pair(t)
	if got := received.Object; got.UID != "uid-1" || got.Name != "web" || received.Verb != entries.Write {
		t.Errorf("a deletion: %+v, want the UID of the pod", received)
	}
	if done.Object.UID != "uid-1" {
		t.Errorf("a deletion: %+v, want the UID still", done)
	}
	n.do(t, "PUT", "/v1/namespaces/default/pods/new", "no manifest")
	if _, done = file.pair(t); done.Outcome != "InvalidArgument" || done.Object.Name != "new" || done.Decision != entries.Allowed {
		t.Errorf("a wrong manifest: %+v", done)
	}
	if n.do(t, "GET", "/v1/pods", ""); len(file.take()) != 0 {
		t.Error("a read is kept by default")
	}
}

func TestWithoutALogNothingChangesAndReadsGoOn(t *testing.T) {
	n, file := newAudited(t, true)
	n.apply(t, manifestOf("kept"))
	n.apply(t, secretOf("s"))
	n.run(t, "kept", node.ContainerRunning)
	file.take()
	file.setBroken(errDiskBroken)
	for _, c := range []struct {
		method, path, body string
		want               int
	}{
		{"POST", "/v1/manifests", manifestOf("late"), 503},
		{"DELETE", "/v1/namespaces/default/pods/kept", "", 503},
		{"POST", "/v1/namespaces/default/pods/kept/containers/main:run", `{"command": ["id"]}`, 503},
		{"POST", "/run/default/kept/main", "cmd=id", 503},
		{"GET", "/exec/default/kept/main?command=id&output=1", "", 503},
		{"PUT", "/debug/flags/v", "4", 503},
		{"GET", "/v1/namespaces/default/secrets/s", "", 503},
		{"GET", "/v1/objects/secrets?values=true", "", 503},
		{"GET", "/v1/objects/secrets", "", 200},
		{"GET", "/v1/pods", "", 200},
		{"GET", "/v1/audit", "", 200},
		{"GET", "/containerLogs/default/kept/main", "", 200},
	} {
		got := n.do(t, c.method, c.path, c.body)
		if got.status != c.want || c.want == 503 && !strings.Contains(got.body, "input/output error; the node changes nothing") {
			t.Errorf("%s %s: got %d %s, want %d", c.method, c.path, got.status, got.body, c.want)
		}
	}
	views, _ := n.store.Views()
	if len(views) != 1 || views[0].Slot.Pod.Deletion != nil {
		t.Errorf("the node has changed: %+v", views)
	}
	file.setBroken(nil)
	n.apply(t, manifestOf("late"))
	all := file.take()
	if len(all) != 3 || all[1].Stage != entries.LeftOut || all[1].LeftOut < 8 {
		t.Errorf("after that: got %+v, want a number of lost entries after the first", all)
	}
}

// Whatever has filled the disk, its pods and images can be deleted, and a stolen token revoked.
func TestAFullDiskRefusesNothingThatTakesAway(t *testing.T) {
	n, file := newAudited(t, true)
	n.apply(t, manifestOf("kept"))
	n.apply(t, secretOf("s"))
	file.take()
	file.setBroken(errDiskFull)
	for _, c := range []struct {
		method, path, body string
		want               int
	}{
		{"POST", "/v1/manifests", manifestOf("late"), 503},
		{"POST", "/v1/tokens", `{"name": "late", "role": "viewer"}`, 503},
		{"POST", "/v1/namespaces/default/pods/kept:restart", "{}", 503},
		{"DELETE", "/v1/tokens/none", "", 404},
		{"POST", "/v1/certificates/none:revoke", "{}", 400},
		{"DELETE", "/v1/namespaces/default/secrets/s", "", 200},
		{"DELETE", "/v1/manifests", manifestOf("kept"), 200},
	} {
		got := n.do(t, c.method, c.path, c.body)
		if got.status != c.want {
			t.Errorf("%s %s: got %d %s, want %d", c.method, c.path, got.status, got.body, c.want)
		}
		all := file.take()
		if c.want == 503 && len(all) != 0 || c.want != 503 && (len(all) != 2 || all[0].Stage != entries.Received || all[1].Stage != entries.Done) {
			t.Errorf("%s %s: got the entries %+v", c.method, c.path, all)
		}
	}
}

func TestRequestsGoThroughWithoutALogIfTheOwnerPrefersThat(t *testing.T) {
	n, file := newAudited(t, true, func(c *audit.Config) { c.LetThrough = true })
	file.setBroken(errDiskFull)
	n.apply(t, manifestOf("web"))
	if _, there := n.store.View(node.Key{Namespace: "default", Name: "web"}); !there {
		t.Error("the pod is not there")
	}
}

func secretOf(name string) string {
	return "{apiVersion: v1, kind: Secret, metadata: {name: " + name + "}, stringData: {password: hunter2}}"
}

func TestReadingAValueOfASecretIsKept(t *testing.T) {
	n, file := newAudited(t, false)
	as := func(role, method, path string) answer {
		return n.do(t, method, path, "", "Authorization", tokenOf(t, role))
	}
	n.do(t, "POST", "/v1/manifests", secretOf("s"), "Authorization", tokenOf(t, "admin"))
	file.take()
	for _, path := range []string{
		"/v1/namespaces/default/secrets/s", "/v1/namespaces/default/objects/secrets/s", "/v1/objects/secrets?values=true",
	} {
		as("admin", "GET", path)
		if received, done := file.pair(t); received.Verb != entries.Secrets || received.User != "admin" || done.Outcome != "OK" {
			t.Errorf("%s by an admin: got %+v", path, received)
		}
	}
	for _, path := range []string{"/v1/namespaces/default/secrets/s", "/v1/objects/secrets", "/v1/objects/configmaps?values=true"} {
		as("operator", "GET", path)
		for _, e := range file.take() {
			if e.Verb == entries.Secrets {
				t.Errorf("%s by an operator shows no value: got %+v", path, e)
			}
		}
	}
	got := as("viewer", "GET", "/v1/objects/secrets?values=true")
	if _, done := file.pair(t); got.status != 403 || done.User != "viewer" || done.Decision != entries.Denied || done.Outcome != "PermissionDenied" {
		t.Errorf("values for a viewer: got %d, %+v", got.status, done)
	}
	as("viewer", "DELETE", "/v1/namespaces/default/secrets/s")
	n.do(t, "PUT", "/v1/namespaces/default/objects/secrets/s", secretOf("s"), "Authorization", tokenOf(t, "viewer"))
	refused := file.take()
	if len(refused) != 2 || *refused[0].Object != *refused[1].Object || refused[0].Stage != entries.Refused || refused[0].Object.Name != "s" || refused[0].Outcome != "PermissionDenied" {
		t.Errorf("changes by a viewer: got %+v", refused)
	}
}

func TestWhatIsSecretIsNeverKept(t *testing.T) {
	for _, level := range []entries.Level{entries.Metadata, entries.Requests} {
		n, file := newAudited(t, true, func(c *audit.Config) {
			for verb := range c.Policy {
				c.Policy[verb] = level
			}
		})
		n.runtime.execSync = func(context.Context, string, []string, time.Duration) ([]byte, []byte, int32, error) {
			return []byte("hunter2"), nil, 0, nil
		}
		pod := strings.Replace(manifestOf("web"), "image:", "env: [{name: A, value: in-the-open}], image:", 1)
		n.do(t, "POST", "/v1/manifests", pod+"---\n"+secretOf("s"))
		n.do(t, "PUT", "/v1/namespaces/default/secrets/s", secretOf("s"))
		n.do(t, "PUT", "/v1/namespaces/default/objects/secrets/s", secretOf("s"))
		n.do(t, "GET", "/v1/namespaces/default/secrets/s", "")
		n.run(t, "web", node.ContainerRunning)
		n.do(t, "POST", "/v1/namespaces/default/pods/web/containers/main:run", `{"command": ["login", "hunter2"]}`)
		n.do(t, "POST", "/run/default/web/main?cmd=login+hunter2", "")
		n.do(t, "POST", "/run/default/web/main", "cmd=login hunter2")
		n.do(t, "GET", "/v1/pods?labelSelector=a", "", "Cookie", "c=hunter2")
		n.do(t, "GET", "/v1/pods", "", "Authorization", "Bearer hunter2")
		text := file.text()
		for _, hidden := range []string{"hunter2", base64.StdEncoding.EncodeToString([]byte("hunter2"))} {
			if strings.Contains(text, hidden) {
				t.Errorf("with %s the log holds %q:\n%s", level, hidden, text)
			}
		}
		for _, shown := range []string{"in-the-open", "labelSelector"} {
			if got := strings.Contains(text, shown); got != (level == entries.Requests) {
				t.Errorf("with %s the log holds %q: %t", level, shown, got)
			}
		}
	}
}

func TestACommandIsKeptByItsHashWithItsExitCode(t *testing.T) {
	n, file := newAudited(t, true)
	n.apply(t, manifestOf("web"))
	n.run(t, "web", node.ContainerRunning)
	n.runtime.execSync = func(context.Context, string, []string, time.Duration) ([]byte, []byte, int32, error) {
		return nil, nil, 7, nil
	}
	n.runtime.exec = func(context.Context, string, []string, node.Streams) (int32, error) { return 7, nil }
	n.runtime.forward = func(context.Context, string, int32, io.ReadWriter) error { return nil }
	file.take()
	client := nodev1.NewExecServiceClient(n.dial(t))
	want := *entries.CommandOf([]string{"exit", "7"})
	for name, run := range map[string]func(){
		"REST": func() {
			n.do(t, "POST", "/v1/namespaces/default/pods/web/containers/main:run", `{"command": ["exit", "7"]}`)
		},
		"a kubelet path":      func() { n.do(t, "POST", "/run/default/web/main", "cmd=exit 7") },
		"a path of the proxy": func() { n.do(t, "POST", "/api/v1/nodes/node1/proxy/run/default/web/main", "cmd=exit 7") },
		"gRPC": func() {
			stream, err := client.Exec(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			start := &nodev1.ExecStart{Namespace: "default", Name: "web", Container: "main", Command: []string{"exit", "7"}}
			if err := stream.Send(&nodev1.ExecRequest{Input: &nodev1.ExecRequest_Start{Start: start}}); err != nil {
				t.Fatal(err)
			}
			for _, err = stream.Recv(); err == nil; _, err = stream.Recv() {
			}
		},
	} {
		run()
		received, done := file.pair(t)
		if received.Command == nil || *received.Command != want || received.Object.UID != "uid-1" || received.Container != "main" {
			t.Errorf("%s: received %+v", name, received)
		}
		if done.ExitCode == nil || *done.ExitCode != 7 {
			t.Errorf("%s: done %+v, want the exit code 7", name, done)
		}
	}
	forward, err := client.PortForward(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	start := &nodev1.PortForwardStart{Namespace: "default", Name: "web", Port: 8080}
	if err := forward.Send(&nodev1.PortForwardRequest{Input: &nodev1.PortForwardRequest_Start{Start: start}}); err != nil {
		t.Fatal(err)
	}
	for _, err = forward.Recv(); err == nil; _, err = forward.Recv() {
	}
	if _, done := file.pair(t); len(done.Ports) != 1 || done.Ports[0] != 8080 {
		t.Errorf("a forwarded port: %+v", done)
	}
}

func TestStrangersAreKeptWithoutAnIdentity(t *testing.T) {
	n, file := newAudited(t, false)
	for range 100 {
		n.do(t, "GET", "/v1/pods", "", "Authorization", "Bearer wrong")
	}
	all := file.take()
	if len(all) == 0 || len(all) > 10 {
		t.Fatalf("100 refused requests made %d entries", len(all))
	}
	if e := all[0]; e.Stage != entries.Refused || e.User != "" || e.From == "" || e.Outcome != "401" || e.Method != "GET /v1/pods" {
		t.Errorf("got %+v", e)
	}
}

func TestAdminsReadTheLog(t *testing.T) {
	n, file := newAudited(t, false)
	as := func(role, path string) answer { return n.do(t, "GET", path, "", "Authorization", tokenOf(t, role)) }
	for _, name := range []string{"web", "db"} {
		n.do(t, "POST", "/v1/manifests", manifestOf(name), "Authorization", tokenOf(t, "operator"))
	}
	for path, want := range map[string]int{
		"/v1/audit?kind=Pod&namespace=default&name=web": 2, "/v1/audit?user=operator": 4, "/v1/audit?user=operator&limit=3": 3,
		"/v1/audit?user=nobody": 0, "/v1/audit?verb=exec": 0, "/v1/audit?kind=Pod&uid=uid-2": 1,
		"/v1/audit?user=operator&since=2020-01-01T00:00:00Z": 4, "/v1/audit?since=2999-01-01T00:00:00Z": 0,
	} {
		var answer struct{ Entries []map[string]any }
		got := as("admin", path)
		if err := json.Unmarshal([]byte(got.body), &answer); err != nil || got.status != 200 || len(answer.Entries) != want {
			t.Errorf("%s: got %d %s, want %d entries", path, got.status, got.body, want)
		}
	}
	if got := as("admin", "/v1/audit?user=operator&limit=1").body; !strings.Contains(got, `"stage":"AUDIT_STAGE_DONE"`) ||
		!strings.Contains(got, `"uid":"uid-2"`) || !strings.Contains(got, `"outcome":"OK"`) {
		t.Errorf("the newest entry of the operator is %s", got)
	}
	for _, c := range []struct {
		role, path string
		want       int
	}{
		{"operator", "/v1/audit", 403}, {"viewer", "/v1/audit", 403}, {"viewer", "/v1/audit:watch", 403},
		{"admin", "/v1/audit?limit=1001", 400}, {"admin", "/v1/audit?limit=-1", 400}, {"admin", "/v1/audit?who=me", 400},
	} {
		if got := as(c.role, c.path); got.status != c.want {
			t.Errorf("%s for %s: got %d %s, want %d", c.path, c.role, got.status, got.body, c.want)
		}
	}
	file.take()
	if got := newNode(t).do(t, "GET", "/v1/audit", ""); got.status != 409 || !strings.Contains(got.body, "--audit-policy") {
		t.Errorf("without a log: got %d %s", got.status, got.body)
	}
}

func TestAWatchSendsKeptEntriesAMarkerAndNewOnes(t *testing.T) {
	n, _ := newAudited(t, true)
	n.apply(t, manifestOf("web"))
	server := httptest.NewServer(n.server.HTTP())
	defer server.Close()
	request, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+"/v1/audit:watch?kind=Pod&name=web&limit=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	next := func(want string) {
		t.Helper()
		if !lines.Scan() || !strings.Contains(lines.Text(), want) {
			t.Errorf("got %q, want %q", lines.Text(), want)
		}
	}
	next(`"stage":"AUDIT_STAGE_DONE"`)
	next(`{}`)
	n.apply(t, manifestOf("db"))
	n.do(t, "DELETE", "/v1/namespaces/default/pods/web", "")
	next(`"method":"/node.v1.PodsService/DeletePod"`)
	n.server.Stop()
	for lines.Scan() {
	}
}
