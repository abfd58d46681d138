package manifest_test

import (
	"strings"
	"testing"

	"nodal/node"
	"nodal/node/manifest"
)

func TestDecodeReadsObjects(t *testing.T) {
	docs, err := manifest.Decode([]byte(`{"apiVersion":"v1","kind":"List","items":[
		{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","uid":"x","resourceVersion":"7"},"data":{"a":"1"}},
		{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","namespace":"n"},"stringData":{"a":"2"},"data":{"a":"MQ==","b":"Mw=="}}]}`), manifest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(docs) != 2 || docs[0].Object == nil || docs[1].Object == nil {
		t.Fatalf("got %+v, want two objects", docs)
	}
	c, s := docs[0].Object, docs[1].Object
	if got, want := c.Ref().String(), "ConfigMap default/c"; got != want || c.Meta().UID != "" {
		t.Errorf("got %s with uid %q, want %s without", got, c.Meta().UID, want)
	}
	if got := s.Data(); string(got["a"]) != "2" || string(got["b"]) != "3" || s.Secret().Type != "Opaque" || s.Secret().StringData != nil {
		t.Errorf("got %q of type %s, want stringData to win", got, s.Secret().Type)
	}
}

func TestDecodeRefusesObjects(t *testing.T) {
	secret := "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n"
	for _, c := range []struct{ name, text, object, field, rule string }{
		{"an unknown field", strings.Replace(secret, "Secret", "ConfigMap", 1) + "date: {}", "ConfigMap default/a", "date", "did you mean data?"},
		{"a runtime class of another group", strings.Replace(secret, "Secret", "RuntimeClass", 1) + "handler: runc", "RuntimeClass default/a", "kind", "did you mean RuntimeClass of node.k8s.io/v1?"},
		{"one name twice", secret + "---\n" + secret, "Secret default/a", "metadata.name", "unique"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := manifest.Decode([]byte(c.text), manifest.Options{})
			document := strings.Count(c.text, "---")
			expectViolation(t, err, node.Violation{Document: document, Object: c.object, Field: c.field, Rule: c.rule})
		})
	}
}
