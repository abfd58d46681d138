package audit

import (
	"reflect"
	"strings"
	"testing"
)

const bundle = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: main, env: [{name: A, value: in-the-open}]}]
---
---
apiVersion: v1
kind: Secret
metadata: {name: s, namespace: prod, annotations: {last-applied: hidden-1}}
data: {password: hidden-2}
stringData: {token: hidden-3}
---
apiVersion: v1
kind: List
items:
- {kind: PersistentVolume, metadata: {name: disk, namespace: ignored}}
- {kind: secret, metadata: {name: typo}, data: {password: hidden-4}}
- {metadata: {name: nameless}, data: {password: hidden-5}}
- not an object
---
kind: PodList
items: [{metadata: {name: listed}, stringData: {password: hidden-6}}, {kind: Secret, data: {a: hidden-7}}]
---
kind: SecretList
items: [{metadata: {name: listed}, data: {password: hidden-8}}]
---
{"Kind": "Secret", "metadata": {"name": "upper"}, "data": {"a": "hidden-9"}}
`

func TestAManifestNamesItsObjects(t *testing.T) {
	want := []Object{
		{Kind: "Pod", Namespace: "default", Name: "web"}, {Kind: "Secret", Namespace: "prod", Name: "s"},
		{Kind: "PersistentVolume", Name: "disk"}, {Kind: "secret", Namespace: "default", Name: "typo"},
		{Namespace: "default", Name: "nameless"}, {Kind: "Pod", Namespace: "default", Name: "listed"},
		{Kind: "Secret", Namespace: "default"}, {Kind: "Secret", Namespace: "default", Name: "listed"},
		{Namespace: "default", Name: "upper"},
	}
	if got := ReadManifest(bundle).Objects(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if got := ReadManifest("kind: Pod\nmetadata: {name: web}\n---\n\t: {").Objects(); len(got) != 1 || got[0].Name != "web" {
		t.Errorf("of a broken manifest: got %v, want the pod before the fault", got)
	}
}

func TestAKeptManifestHoldsNoValueOfASecret(t *testing.T) {
	got := string(ReadManifest(bundle).Redacted())
	if strings.Contains(got, "hidden") {
		t.Errorf("it holds a value: %s", got)
	}
	for _, want := range []string{"in-the-open", `"disk"`, `"prod"`} {
		if !strings.Contains(got, want) {
			t.Errorf("it lacks %s: %s", want, got)
		}
	}
}
