package server

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	nodev1 "nodal/api/gen/node/v1"
)

const (
	configManifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {mode: fast}\nbinaryData: {raw: AAE=}\n"
	secretManifest = "apiVersion: v1\nkind: Secret\nmetadata: {name: login, namespace: shop}\nstringData: {password: s3cret}\n"
)

func TestObjectsOfABundleAreShown(t *testing.T) {
	n := newNode(t)
	got := n.do(t, "POST", "/v1/manifests", configManifest+"---\n"+secretManifest+"---\n"+manifestOf("web"))
	for _, want := range []string{`"kind":"ConfigMap"`, `"kind":"Secret"`, `"kind":"Pod"`, "RESULT_CREATED"} {
		if !strings.Contains(got.body, want) {
			t.Fatalf("apply: got %d %s, want in it %s", got.status, got.body, want)
		}
	}
	if strings.Contains(got.body, "s3cret") {
		t.Errorf("the answer repeats the secret: %s", got.body)
	}
	again := n.do(t, "POST", "/v1/manifests", configManifest+"---\n"+secretManifest)
	if strings.Count(again.body, "RESULT_UNCHANGED") != 2 {
		t.Errorf("again: got %s, want both unchanged", again.body)
	}
	one := n.do(t, "GET", "/v1/namespaces/default/configmaps/settings", "")
	for _, want := range []string{`"keys":["mode", "raw"]`, `"mode":"fast"`, `"raw":"AAE="`} {
		if !strings.Contains(strings.ReplaceAll(one.body, `","`, `", "`), want) {
			t.Errorf("get: got %s, want in it %s", one.body, want)
		}
	}
	deleted := n.do(t, "DELETE", "/v1/manifests", configManifest)
	if !strings.Contains(deleted.body, "RESULT_DELETED") {
		t.Errorf("delete: got %s", deleted.body)
	}
	if gone := n.do(t, "GET", "/v1/namespaces/default/configmaps/settings", ""); gone.status != 404 {
		t.Errorf("after its deletion: got %d %s, want 404", gone.status, gone.body)
	}
}

func TestUnchangedSinceGuardsABundle(t *testing.T) {
	n := newNode(t)
	const path = "/v1/manifests?unchangedSince="
	theirs := strings.Replace(configManifest, "fast", "slow", 1)
	if got := n.do(t, "POST", path+"0", configManifest); got.status != 200 {
		t.Fatalf("nothing is there: got %d %s", got.status, got.body)
	}
	looked := fmt.Sprint(n.store.Revision())
	if got := n.do(t, "POST", path+looked, theirs); got.status != 200 {
		t.Fatalf("it is as it was: got %d %s", got.status, got.body)
	}
	for method, since := range map[string]string{"POST": "0", "DELETE": looked} {
		if got := n.do(t, method, path+since, configManifest); got.status != 409 || !strings.Contains(got.body, `"CHANGED"`) {
			t.Errorf("%s after a change: got %d %s, want 409", method, got.status, got.body)
		}
	}
	since := int64(0)
	_, err := nodev1.NewManifestsServiceClient(n.dial(t)).Apply(t.Context(), &nodev1.ApplyRequest{Manifest: configManifest, UnchangedSince: &since})
	if status.Code(err) != codes.Aborted {
		t.Errorf("by gRPC: got %v, want Aborted", err)
	}
	if one := n.do(t, "GET", "/v1/namespaces/default/configmaps/settings", ""); !strings.Contains(one.body, "slow") {
		t.Errorf("got %s, want what they have posted", one.body)
	}
	if got := n.do(t, "DELETE", path+fmt.Sprint(n.store.Revision()), configManifest); got.status != 200 || !strings.Contains(got.body, "RESULT_DELETED") {
		t.Errorf("delete: got %d %s", got.status, got.body)
	}
}

func TestOnlyAnAdminSeesASecret(t *testing.T) {
	n := newNode(t, func(c *Config) { c.Front.Auth = newAuth(t, false) })
	const path = "/v1/namespaces/shop/secrets/login"
	if put := n.do(t, "PUT", path, secretManifest, "Authorization", tokenOf(t, "operator")); put.status != 200 || strings.Contains(put.body, "s3cret") || strings.Contains(put.body, "czNjcmV0") {
		t.Fatalf("put: got %d %s, want it taken and not repeated", put.status, put.body)
	}
	const value = "czNjcmV0" // s3cret in base64
	for _, c := range []struct {
		role, path string
		shown      bool
	}{
		{"admin", path, true},
		{"operator", path, false},
		{"viewer", path, false},
		{"admin", "/v1/secrets", false},
	} {
		got := n.do(t, "GET", c.path, "", "Authorization", tokenOf(t, c.role))
		if got.status != 200 || !strings.Contains(got.body, `"password"`) || strings.Contains(got.body, value) != c.shown {
			t.Errorf("%s on %s: got %d %s, want the value shown: %t", c.role, c.path, got.status, got.body, c.shown)
		}
	}
	if got := n.do(t, "DELETE", path, "", "Authorization", tokenOf(t, "viewer")); got.status != 403 {
		t.Errorf("a viewer deletes: got %d, want 403", got.status)
	}
}

func TestAnImmutableObjectStays(t *testing.T) {
	n := newNode(t)
	n.apply(t, configManifest+"immutable: true\n")
	for name, c := range map[string]struct{ body, want string }{
		"its data":    {strings.Replace(configManifest, "fast", "slow", 1) + "immutable: true\n", "data"},
		"its promise": {configManifest, "immutable"},
	} {
		if got := n.do(t, "POST", "/v1/manifests", c.body); got.status != 400 || !strings.Contains(got.body, "(ConfigMap default/settings): "+c.want+`"`) {
			t.Errorf("%s: got %d %s, want 400 for %s", name, got.status, got.body, c.want)
		}
	}
	labelled := strings.Replace(configManifest, "{name: settings}", "{name: settings, labels: {a: b}}", 1) + "immutable: true\n"
	if got := n.do(t, "POST", "/v1/manifests", labelled); got.status != 200 || !strings.Contains(got.body, "metadata.labels") {
		t.Errorf("its labels: got %d %s, want them changed", got.status, got.body)
	}
}

func TestAPathAcceptsItsOwnObjectOnly(t *testing.T) {
	n := newNode(t)
	for _, c := range []struct{ name, path, body string }{
		{"another name", "/v1/namespaces/default/configmaps/other", configManifest},
		{"another namespace", "/v1/namespaces/default/secrets/login", secretManifest},
		{"another kind", "/v1/namespaces/shop/secrets/settings", configManifest},
		{"two objects", "/v1/namespaces/default/configmaps/settings", configManifest + "---\n" + secretManifest},
		{"a pod", "/v1/namespaces/default/configmaps/web", manifestOf("web")},
		{"an object for a pod", "/v1/namespaces/default/pods/settings", configManifest},
	} {
		if got := n.do(t, "PUT", c.path, c.body); got.status != 400 {
			t.Errorf("%s: got %d %s, want 400", c.name, got.status, got.body)
		}
	}
}
