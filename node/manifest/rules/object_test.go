package rules_test

import (
	"slices"
	"strings"
	"testing"
)

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
		{"a megabyte and more", object("ConfigMap", "a", "data: {k: "+strings.Repeat("x", 1<<20+1)+"}"), []string{"data"}},
		{"a docker config that is missing", object("Secret", "a", "type: kubernetes.io/dockerconfigjson"), []string{"data[.dockerconfigjson]"}},
		{"a docker config that is none", object("Secret", "a", "type: kubernetes.io/dockercfg\nstringData: {.dockercfg: hidden}"), []string{"data[.dockercfg]"}},
		{"a TLS secret without its key", object("Secret", "a", "type: kubernetes.io/tls\nstringData: {tls.crt: x}"), []string{"data[tls.key]"}},
		{"basic auth without anybody", object("Secret", "a", "type: kubernetes.io/basic-auth"), []string{"data[username]", "data[password]"}},
		{"a runtime class without a handler", class("overhead: {podFixed: {cpu: 1}}"), []string{"handler"}},
		{"a runtime class with an overhead below nothing", class("handler: runc\noverhead: {podFixed: {cpu: -1}}"), []string{"overhead.podFixed[cpu]"}},
		{"a volume on a driver that is not there", lasting("rbd: {monitors: [a], image: b}"), []string{"spec"}},
		{"a volume of no CSI driver", lasting("csi: {driver: x_, nodePublishSecretRef: {name: a}}"), []string{"spec.csi.driver", "spec.csi.volumeHandle", "spec.csi.nodePublishSecretRef.namespace"}},
		{"a volume that a CSI driver would attach", lasting("csi: {driver: x, volumeHandle: z, controllerPublishSecretRef: {name: a, namespace: b}}"), []string{"spec.csi.controllerPublishSecretRef"}},
		{"a volume of a CSI driver that grows by half a Secret", lasting("csi: {driver: x, volumeHandle: z, nodeExpandSecretRef: {name: a}}"), []string{"spec.csi.nodeExpandSecretRef.namespace"}},
		{"a volume for one pod alone and others", strings.Replace(lasting("local: {path: /d}"), "ReadWriteOnce", "ReadWriteOncePod, ReadWriteOnce", 1), []string{"spec.accessModes"}},
		{"a directory of the host for one pod alone", strings.Replace(lasting("hostPath: {path: /d}"), "ReadWriteOnce", "ReadWriteOncePod", 1), []string{"spec.accessModes"}},
		{"a device for one pod alone", strings.Replace(lasting("volumeMode: Block, local: {path: /d}"), "ReadWriteOnce", "ReadWriteOncePod", 1), []string{"spec.accessModes"}},
		{"a device that is a path of the host", lasting("volumeMode: Block, hostPath: {path: /d}"), []string{"spec.volumeMode"}},
		{"options for what is mounted already", lasting("mountOptions: [ro], local: {path: /d}"), []string{"spec.mountOptions"}},
		{"a claim of no size", object("PersistentVolumeClaim", "a", "spec: {accessModes: [ReadWriteOnce]}"), []string{"spec.resources.requests[storage]"}},
		{"a mode that volumes do not have", lasting("volumeMode: Tape, local: {path: /d}"), []string{"spec.volumeMode"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var fields []string
			for _, v := range violations(t, c.text) {
				fields = append(fields, v.Field)
				if strings.Contains(v.Rule, "hidden") {
					t.Errorf("the violation repeats a secret: %v", v)
				}
			}
			if !slices.Equal(fields, c.fields) {
				t.Errorf("got %q, want %q", fields, c.fields)
			}
		})
	}
}
