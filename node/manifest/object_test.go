package manifest_test

import (
	"errors"
	"slices"
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

func TestObjectsFollowKubernetesRules(t *testing.T) {
	object := func(kind, name, rest string) string {
		return "apiVersion: v1\nkind: " + kind + "\nmetadata: {name: " + name + "}\n" + rest
	}
	class := func(rest string) string {
		return strings.Replace(object("RuntimeClass", "a", rest), "v1", "node.k8s.io/v1", 1)
	}
	lasting := func(rest string) string {
		return object("PersistentVolume", "a", "spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], "+rest+"}")
	}
	for _, c := range []struct {
		name, text string
		fields     []string
	}{
		{"a name that is none", object("ConfigMap", "A_B", ""), []string{"metadata.name"}},
		{"no name", object("Secret", "", ""), []string{"metadata.name"}},
		{"a key that is no file name", object("ConfigMap", "a", "data: {a/b: x}"), []string{"data[a/b]"}},
		{"a key twice", object("ConfigMap", "a", "data: {k: x}\nbinaryData: {k: eA==}"), []string{"data[k]"}},
		{"an unknown field", object("ConfigMap", "a", "date: {}"), []string{"date"}},
		{"a megabyte and more", object("ConfigMap", "a", "data: {k: "+strings.Repeat("x", 1<<20+1)+"}"), []string{"data"}},
		{"a docker config that is missing", object("Secret", "a", "type: kubernetes.io/dockerconfigjson"), []string{"data[.dockerconfigjson]"}},
		{"a docker config that is none", object("Secret", "a", "type: kubernetes.io/dockercfg\nstringData: {.dockercfg: hidden}"), []string{"data[.dockercfg]"}},
		{"a TLS secret without its key", object("Secret", "a", "type: kubernetes.io/tls\nstringData: {tls.crt: x}"), []string{"data[tls.key]"}},
		{"basic auth without anybody", object("Secret", "a", "type: kubernetes.io/basic-auth"), []string{"data[username]", "data[password]"}},
		{"a runtime class without a handler", class("overhead: {podFixed: {cpu: 1}}"), []string{"handler"}},
		{"a runtime class with an overhead below nothing", class("handler: runc\noverhead: {podFixed: {cpu: -1}}"), []string{"overhead.podFixed[cpu]"}},
		{"a runtime class of another group", object("RuntimeClass", "a", "handler: runc"), []string{"kind"}},
		{"a volume on a driver that is not there", lasting("csi: {driver: x, volumeHandle: z}"), []string{"spec"}},
		{"a volume for one pod alone", strings.Replace(lasting("local: {path: /d}"), "ReadWriteOnce", "ReadWriteOncePod", 1), []string{"spec.accessModes"}},
		{"a device that is a path of the host", lasting("volumeMode: Block, hostPath: {path: /d}"), []string{"spec.volumeMode"}},
		{"options for what is mounted already", lasting("mountOptions: [ro], local: {path: /d}"), []string{"spec.mountOptions"}},
		{"a claim of no size", object("PersistentVolumeClaim", "a", "spec: {accessModes: [ReadWriteOnce]}"), []string{"spec.resources.requests[storage]"}},
		{"a mode that volumes do not have", lasting("volumeMode: Tape, local: {path: /d}"), []string{"spec.volumeMode"}},
		{"one name twice", object("Secret", "a", "---\n"+object("Secret", "a", "")), []string{"metadata.name"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := manifest.Decode([]byte(c.text), manifest.Options{})
			var invalid *node.InvalidError
			if !errors.As(err, &invalid) {
				t.Fatalf("got %v, want violations", err)
			}
			var fields []string
			for _, v := range invalid.Violations {
				fields = append(fields, v.Field)
			}
			if !slices.Equal(fields, c.fields) {
				t.Errorf("got %q, want %q: %v", fields, c.fields, err)
			}
			if strings.Contains(err.Error(), "hidden") {
				t.Errorf("the error repeats a secret: %v", err)
			}
		})
	}
}

func TestASourceOfPodsTakesNothingElse(t *testing.T) {
	text := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	_, err := manifest.Decode([]byte(text), manifest.Options{PodsOnly: true})
	if err == nil || !strings.Contains(err.Error(), "Pod, PodList or List") {
		t.Errorf("got %v, want it refused with what is taken", err)
	}
}
