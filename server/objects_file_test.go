package server

import (
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/intake"
	"nodal/node/manifest"
)

const filedWords = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: filed}\ndata: {a: '1'}\n"

// An object of a file shows its file, and every way to change it over the API names that.
func TestAnObjectOfAFileIsTheFiles(t *testing.T) {
	n := newNode(t)
	docs, err := manifest.Decode([]byte(filedWords), manifest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	files := intake.Intake{Store: n.store, Source: node.SourceFile, Offer: n.offers.Read, NewUID: func() types.UID { return "filed" }}
	if _, _, err := files.Apply([]intake.Delivery{{Object: docs[0].Object, Origin: "/etc/pods/filed.yaml"}}, testNow); err != nil {
		t.Fatal(err)
	}
	const object, inKube = "/v1/namespaces/default/objects/configmaps/filed", "/api/v1/namespaces/default/configmaps/filed"
	changed := strings.Replace(filedWords, "'1'", "'2'", 1)
	for _, ask := range []struct{ method, path, body, kind string }{
		{"PUT", object, changed, "application/yaml"},
		{"DELETE", object, "", ""},
		{"POST", "/v1/manifests", changed, "application/yaml"},
		{"POST", "/v1/manifests:plan", changed, "application/yaml"},
		{"DELETE", "/v1/manifests", changed, "application/yaml"},
		{"PUT", inKube, changed, "application/yaml"},
		{"PATCH", inKube, `{"data": {"a": "2"}}`, "application/merge-patch+json"},
		{"DELETE", inKube, "", "application/json"},
	} {
		got := n.do(t, ask.method, ask.path, ask.body, "Content-Type", ask.kind)
		if got.status != http.StatusConflict || !strings.Contains(got.body, "change or remove it in /etc/pods/filed.yaml") {
			t.Errorf("%s %s: got %d %s, want 409 with the file", ask.method, ask.path, got.status, got.body)
		}
	}
	got := n.do(t, "GET", object, "")
	for _, want := range []string{`"source":"file"`, `"origin":"/etc/pods/filed.yaml"`, `"a":"1"`} {
		if !strings.Contains(got.body, want) {
			t.Errorf("got %s, want %s in it", got.body, want)
		}
	}
}
