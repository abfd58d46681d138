package server

import (
	"net/http"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
)

func TestViolationsNameDocumentFieldAndRule(t *testing.T) {
	n := newNode(t)
	bundle := manifestOf("web") + "---\n" + strings.Replace(manifestOf("bad"), "image:", "imagee:", 1)
	_, err := nodev1.NewManifestsServiceClient(n.dial(t)).Apply(t.Context(), &nodev1.ApplyRequest{Manifest: bundle})
	if status.Code(err) != codes.InvalidArgument {
		t.Fatalf("got %v, want InvalidArgument", err)
	}
	var found *errdetails.BadRequest
	for _, detail := range status.Convert(err).Details() {
		if bad, ok := detail.(*errdetails.BadRequest); ok {
			found = bad
		}
	}
	if len(found.GetFieldViolations()) == 0 {
		t.Fatalf("got %v, want violations in the details", err)
	}
	v := found.GetFieldViolations()[0]
	if !strings.HasPrefix(v.GetField(), "document 2 (Pod default/bad): spec.containers[0]") || v.GetDescription() == "" {
		t.Errorf("got field %q, rule %q", v.GetField(), v.GetDescription())
	}
	if _, ok := n.store.View(node.Key{Namespace: "default", Name: "web"}); ok {
		t.Error("the sound document of a bad bundle was taken")
	}
	rest := n.do(t, "POST", "/v1/manifests", bundle)
	if rest.status != http.StatusBadRequest || !strings.Contains(rest.body, "fieldViolations") {
		t.Errorf("REST: got %d %s, want 400 with the violations", rest.status, rest.body)
	}
}

func TestBadRequestsGetTheirOwnCodes(t *testing.T) {
	n := newNode(t, func(c *Config) { c.Front.Limits.BodyBytes = 1000 })
	n.apply(t, manifestOf("web"))
	big := manifestOf("big") + strings.Repeat("# filler\n", 200)
	const pod = "/v1/namespaces/default/pods/web"
	cases := []struct {
		name         string
		method, path string
		body         string
		headers      []string
		want         int
	}{
		{"a body over the limit", "POST", "/v1/manifests", big, nil, 413},
		{"a content type that is no manifest", "POST", "/v1/manifests", manifestOf("a"), []string{"Content-Type", "image/png"}, 415},
		{"a content type that is nothing", "POST", "/v1/manifests", manifestOf("a"), []string{"Content-Type", ";;"}, 415},
		{"a body that is compressed", "POST", "/v1/manifests", "\x1f\x8b\x08", []string{"Content-Encoding", "gzip"}, 415},
		{"no manifest", "POST", "/v1/manifests", "", nil, 400},
		{"something that is no YAML", "POST", "/v1/manifests", "{", nil, 400},
		{"a manifest of another pod than the path names", "PUT", "/v1/namespaces/default/pods/other", manifestOf("web"), nil, 400},
		{"two pods for one path", "PUT", pod, manifestOf("web") + "---\n" + manifestOf("b"), nil, 400},
		{"an unknown pod", "GET", "/v1/namespaces/default/pods/nobody", "", nil, 404},
		{"an unknown pod to delete", "DELETE", "/v1/namespaces/default/pods/nobody", "", nil, 404},
		{"another pod's uid", "DELETE", pod + "?uid=wrong", "", nil, 409},
		{"another pod's uid to restart", "POST", pod + ":restart", `{"uid":"wrong"}`, nil, 409},
		{"a negative grace period", "DELETE", pod + "?gracePeriodSeconds=-1", "", nil, 400},
		{"an unknown container's log", "GET", pod + "/containers/nobody/logs", "", nil, 404},
		{"a log before the first run", "GET", pod + "/containers/main/logs", "", nil, 503},
		{"a command in a container that does not run", "POST", pod + "/containers/main:run", `{"command":["ls"]}`, nil, 409},
		{"no command", "POST", pod + "/containers/main:run", `{}`, nil, 400},
		{"an unknown field of a request", "POST", pod + "/containers/main:run", `{"comand":["ls"]}`, nil, 400},
		{"a revision from the future", "GET", "/v1/pods:watch?sinceRevision=999999", "", nil, 410},
		{"a revision that is no number", "GET", "/v1/pods:watch?sinceRevision=x", "", nil, 400},
		{"a label selector that does not parse", "GET", "/v1/pods?labelSelector=%21%21", "", nil, 400},
		{"a field nobody can select by", "GET", "/v1/pods?fieldSelector=spec.hostname%3Da", "", nil, 400},
		{"events of a name without a namespace", "GET", "/v1/events?name=web", "", nil, 400},
		{"a path that is not there", "GET", "/v1/nothing", "", nil, 404},
		{"a kubelet path that is not there", "GET", "/nothing", "", nil, 404},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := n.do(t, c.method, c.path, c.body, c.headers...)
			if got.status != c.want {
				t.Errorf("got %d %s, want %d", got.status, got.body, c.want)
			}
			if strings.HasPrefix(c.path, "/v1/") && !strings.Contains(got.body, `"message"`) {
				t.Errorf("got body %q, want a status", got.body)
			}
		})
	}
}

func TestAFullDiskRefusesPodsAndServesReadsAndDeletes(t *testing.T) {
	n := newNode(t)
	n.apply(t, manifestOf("web"))
	n.journal.fill()
	if got := n.do(t, "POST", "/v1/manifests", manifestOf("other")); got.status != http.StatusInsufficientStorage {
		t.Errorf("post: got %d %s, want 507", got.status, got.body)
	}
	if got := n.do(t, "GET", "/v1/pods", ""); got.status != http.StatusOK {
		t.Errorf("list: got %d %s, want 200", got.status, got.body)
	}
	if got := n.do(t, "DELETE", "/v1/namespaces/default/pods/web", ""); got.status != http.StatusOK {
		t.Errorf("delete: got %d %s, want 200", got.status, got.body)
	}
}
