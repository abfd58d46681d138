package cluster

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/test/claim"
	"nodal/test/daemon"
	controlplane "nodal/test/plane"
	"nodal/test/rig"
)

func TestTheClusterAuthorizesCallers(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "In a cluster",
		"the node's server accepts the cluster's tokens, and the cluster's RBAC decides by the same path and verb as for upstream's kubelet",
		"a caller that may only read nodes/proxy can neither exec by a WebSocket nor post pods",
		"an anonymous caller has the rights of the cluster's system:anonymous",
		"the node's own credentials are valid beside the cluster's",
		"while the API server is away earlier decisions stay valid; otherwise the answer is 401 to a token and 500 to a request",
	)
	p := startPlane(t)
	w := &world{plane: p, node: daemon.Start(t, rig.Containerd(t), "--kubeconfig", p.kubeconfig(controlplane.Node), "--anonymous-auth",
		"--authorization-webhook-cache-unauthorized-ttl=1ms")}
	w.eventually("a node", func() bool { code, _ := w.try("GET", "/api/v1/nodes/node-a", "", nil); return code == http.StatusOK })

	paths := map[string]string{
		"metrics": "/metrics", "stats": "/stats/summary", "pods": "/pods", "healthz": "/healthz", "configz": "/configz", "proxy": "/runningpods/",
	}
	tokens := map[string]string{}
	for part := range paths {
		tokens[part] = w.user(part, "get", "nodes/"+part)
	}
	for part, token := range tokens {
		for other, path := range paths {
			narrow := other == "pods" || other == "healthz" || other == "configz" // the proxy subresource covers these
			want := http.StatusForbidden
			if part == other || part == "proxy" && narrow || part == "pods" && other == "proxy" {
				want = http.StatusOK
			}
			if code, text := w.server(token, "GET", path); code != want {
				t.Errorf("with get on nodes/%s GET %s: got %d %s, want %d", part, path, code, text, want)
			}
		}
	}

	for _, c := range []struct {
		name, token, method, path string
		code                      int
		says                      string
	}{
		{"a WebSocket by nodes/proxy", tokens["proxy"], "GET", "/exec/default/web/main?command=id&output=1", 403, "verb=create, resource=nodes, subresource(s)=[proxy]"},
		{"a pod by nodes/proxy", tokens["proxy"], "POST", "/v1/manifests", 403, "may not write"},
		{"pods of the API by nodes/proxy", tokens["proxy"], "GET", "/v1/pods", 200, ""},
		{"a command with the right to it", w.user("shell", "create", "nodes/proxy"), "POST", "/run/default/web/main?cmd=id", 404, "pod does not exist"},
		{"pods without a right to them", w.user("none", "get", "configmaps"), "GET", "/pods", 403, "user=system:serviceaccount:default:none, verb=get, resource=nodes, subresource(s)=[pods proxy]"},
		{"an unknown token", "nobody", "GET", "/metrics", 401, "Unauthorized"},
		{"nobody", "", "GET", "/metrics", 403, "user=system:anonymous"},
		{"the node's own viewer", w.own("viewer"), "GET", "/metrics", 200, ""},
		{"the node's own viewer, beyond that", w.own("viewer"), "POST", "/run/default/web/main?cmd=id", 403, "user=viewer"},
	} {
		if code, text := w.server(c.token, c.method, c.path); code != c.code || !strings.Contains(text, c.says) {
			t.Errorf("%s: got %d %s, want %d %s", c.name, code, text, c.code, c.says)
		}
	}
	w.bind("anyone", "get", "nodes/healthz", "kind: User, apiGroup: rbac.authorization.k8s.io, name: \"system:anonymous\"")
	w.eventually("healthz for all", func() bool { code, _ := w.server("", "GET", "/healthz"); return code == http.StatusOK })

	late := w.user("late", "get", "nodes/metrics")
	w.apiserver.end()
	for _, c := range []struct {
		name, token, path string
		code              int
		says              string
	}{
		{"an earlier permission", tokens["metrics"], "/metrics", 200, ""},
		{"an unknown permission", tokens["metrics"], "/stats/summary", 500, "Authorization error (user=system:serviceaccount:default:metrics, verb=get, resource=nodes, subresource=stats)"},
		{"a token that was not shown", late, "/metrics", 401, "Unauthorized"},
		{"the node's own viewer", w.own("viewer"), "/metrics", 200, ""},
	} {
		if code, text := w.server(c.token, "GET", c.path); code != c.code || !strings.Contains(text, c.says) {
			t.Errorf("away from the API server, %s: got %d %s, want %d %s", c.name, code, text, c.code, c.says)
		}
	}
	w.apiserver.begin()
	w.eventually("the late one's right", func() bool { code, _ := w.server(late, "GET", "/metrics"); return code == http.StatusOK })
}

// user creates a service account with one right, and returns its token.
func (w *world) user(name, verb, resource string) string {
	w.t.Helper()
	const accounts = "/api/v1/namespaces/default/serviceaccounts"
	w.create(accounts, "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: "+name+"}\n")
	w.bind(name, verb, resource, "kind: ServiceAccount, namespace: default, name: "+name)
	w.eventually(name+"'s right", func() bool { return w.may("system:serviceaccount:default:"+name, verb, resource) })
	var given authenticationv1.TokenRequest
	must(w.t, json.Unmarshal(w.ask("POST", accounts+"/"+name+"/token", "application/json", `{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}`), &given))
	return given.Status.Token
}

// may reports whether the API server grants a right. It learns of new rights by a watch.
func (w *world) may(user, verb, resource string) bool {
	w.t.Helper()
	resource, part, _ := strings.Cut(resource, "/")
	question, err := json.Marshal(authorizationv1.SubjectAccessReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SubjectAccessReview"},
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Resource: resource, Subresource: part},
		},
	})
	must(w.t, err)
	var answer authorizationv1.SubjectAccessReview
	must(w.t, json.Unmarshal(w.ask("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", "application/json", string(question)), &answer))
	return answer.Status.Allowed
}

func (w *world) bind(name, verb, resource, subject string) {
	w.t.Helper()
	const rbac = "/apis/rbac.authorization.k8s.io/v1/"
	w.create(rbac+"clusterroles", fmt.Sprintf("apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: %s}\n"+
		"rules: [{apiGroups: [\"\"], resources: [%s], verbs: [%s]}]\n", name, resource, verb))
	w.create(rbac+"clusterrolebindings", fmt.Sprintf("apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: %s}\n"+
		"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %s}\nsubjects: [{%s}]\n", name, name, subject))
}

// own returns a token that the node itself made.
func (w *world) own(role string) string {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(w.node.Dir, "credentials", role+".token"))
	must(w.t, err)
	return strings.TrimSpace(string(text))
}

// server sends a request to the node's own server. Code 0 means that it does not answer.
func (w *world) server(token, method, path string) (int, string) {
	w.t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	r, err := http.NewRequestWithContext(w.t.Context(), method, fmt.Sprintf("https://127.0.0.1:%d%s", w.node.Port, path), nil)
	must(w.t, err)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := client.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err.Error()
	}
	return answer.StatusCode, string(text)
}
