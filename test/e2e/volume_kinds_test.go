package e2e

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/test/claim"
)

// Kubernetes' node conformance tests list 71 behaviours of volumes. This test has all of them, in
// the same order of kinds.
func TestVolumesBehaveAsInKubernetes(t *testing.T) {
	claim.Shows(t, "Volumes",
		"configMap: each key is a file, which all may read",
		"configMap: defaultMode is the mode of the files",
		"configMap: items choose keys and their paths",
		"configMap: the mode of an item overrides defaultMode",
		"configMap: a pod may mount one twice",
		"configMap: a user other than root reads the files",
		"configMap: a user other than root reads what items choose",
		"configMap: binary data is a file as it is",
		"configMap: a change of the ConfigMap shows in a running pod",
		"configMap: optional ones may come, change and go while a pod runs",
		"secret: each key is a file, which all may read",
		"secret: defaultMode is the mode of the files",
		"secret: items choose keys and their paths",
		"secret: the mode of an item overrides defaultMode",
		"secret: a pod may mount one twice",
		"secret: a user other than root reads the files by fsGroup, whatever defaultMode",
		"secret: one of the same name in another namespace is not used",
		"secret: optional ones may come, change and go while a pod runs",
		"downwardAPI: a file holds the pod's name",
		"downwardAPI: defaultMode is the mode of the files",
		"downwardAPI: the mode of an item overrides defaultMode",
		"downwardAPI: a file holds the CPU limit of a container",
		"downwardAPI: a file holds the memory limit of a container",
		"downwardAPI: a file holds the CPU request of a container",
		"downwardAPI: a file holds the memory request of a container",
		"downwardAPI: without a CPU limit it is the node's allocatable CPU",
		"downwardAPI: without a memory limit it is the node's allocatable memory",
		"downwardAPI: a change of labels shows in a running pod",
		"downwardAPI: a change of annotations shows in a running pod",
		"projected configMap: each key is a file, which all may read",
		"projected configMap: defaultMode is the mode of the files",
		"projected configMap: items choose keys and their paths",
		"projected configMap: the mode of an item overrides defaultMode",
		"projected configMap: a pod may mount one twice",
		"projected configMap: a user other than root reads the files",
		"projected configMap: a user other than root reads what items choose",
		"projected secret: each key is a file, which all may read",
		"projected secret: defaultMode is the mode of the files",
		"projected secret: items choose keys and their paths",
		"projected secret: the mode of an item overrides defaultMode",
		"projected secret: a pod may mount one twice",
		"projected secret: a user other than root reads the files by fsGroup, whatever defaultMode",
		"projected downwardAPI: a file holds the pod's name",
		"projected downwardAPI: defaultMode is the mode of the files",
		"projected downwardAPI: the mode of an item overrides defaultMode",
		"projected downwardAPI: a file holds the CPU limit of a container",
		"projected downwardAPI: a file holds the memory limit of a container",
		"projected downwardAPI: a file holds the CPU request of a container",
		"projected downwardAPI: a file holds the memory request of a container",
		"projected downwardAPI: without a CPU limit it is the node's allocatable CPU",
		"projected downwardAPI: without a memory limit it is the node's allocatable memory",
		"projected: one volume joins a ConfigMap, a Secret and the downward API",
		"projected configMap: a change of the ConfigMap shows in a running pod",
		"projected configMap: optional ones may come, change and go while a pod runs",
		"projected secret: optional ones may come, change and go while a pod runs",
		"projected downwardAPI: a change of labels shows in a running pod",
		"projected downwardAPI: a change of annotations shows in a running pod",
		"emptyDir: on the disk it is open to all",
		"emptyDir: in memory it is open to all, and a tmpfs",
		"emptyDir: root writes a file of mode 0644 on the disk",
		"emptyDir: root writes a file of mode 0666 on the disk",
		"emptyDir: root writes a file of mode 0777 on the disk",
		"emptyDir: another user writes a file of mode 0644 on the disk",
		"emptyDir: another user writes a file of mode 0666 on the disk",
		"emptyDir: another user writes a file of mode 0777 on the disk",
		"emptyDir: root writes a file of mode 0644 in memory",
		"emptyDir: root writes a file of mode 0666 in memory",
		"emptyDir: root writes a file of mode 0777 in memory",
		"emptyDir: another user writes a file of mode 0644 in memory",
		"emptyDir: another user writes a file of mode 0666 in memory",
		"emptyDir: another user writes a file of mode 0777 in memory",
	)
	n := start(t)
	n.apply(settled)
	n.configMapVolumes()
	n.secretVolumes()
	n.podVolumes()
	n.emptyVolumes()
	n.changingVolumes()
}

const nobody = "runAsUser: 1000, runAsNonRoot: true"

// settled holds the objects that the pods' volumes are made from.
const settled = `apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {one: "1", two: "2"}
binaryData: {raw: AAECgP8=}
---
apiVersion: v1
kind: Secret
metadata: {name: login}
stringData: {user: eve, password: tr0ub4dor}
---
apiVersion: v1
kind: Secret
metadata: {name: login, namespace: other}
stringData: {user: mallory}
`

// keysOf returns looks for all that Kubernetes expects of a ConfigMap or Secret in a volume, in
// each way to write it. key is one of its keys and value its content.
func keysOf(volume func(mode, rest string) string, key, value string) []look {
	item := func(mode string) string { return fmt.Sprintf(", items: [{key: %s, path: path/to/it%s}]", key, mode) }
	show := fmt.Sprintf("cat v/%s; stat -Lc ' %%a' v/%[1]s", key)
	showItem := "cat v/path/to/it; stat -Lc ' %a' v/path/to/it; ls v"
	return []look{
		{v: volume("", ""), script: show, want: value + " 644\n"},
		{v: volume("0400", ""), script: show, want: value + " 400\n"},
		{v: volume("", item("")), script: showItem, want: value + " 644\npath\n"},
		{v: volume("", item(", mode: 0400")), script: showItem, want: value + " 400\npath\n"},
		{v: volume("", ""), w: volume("", ""), script: fmt.Sprintf("cat v/%s w/%[1]s", key), want: value + value},
	}
}

// option returns a field with a value, or nothing for an empty value.
func option(field, value string) string {
	if value == "" {
		return ""
	}
	return ", " + field + ": " + value
}

func configMapVolume(mode, rest string) string {
	return "configMap: {name: settings" + option("defaultMode", mode) + rest + "}"
}

func secretVolume(mode, rest string) string {
	return "secret: {secretName: login" + option("defaultMode", mode) + rest + "}"
}

func projectedVolume(kind, name string) func(mode, rest string) string {
	return func(mode, rest string) string {
		return fmt.Sprintf("projected: {sources: [{%s: {name: %s%s}}]%s}", kind, name, rest, option("defaultMode", mode))
	}
}

func (n *node) configMapVolumes() {
	n.t.Helper()
	for kind, volume := range map[string]func(mode, rest string) string{
		"map": configMapVolume, "projected-map": projectedVolume("configMap", "settings"),
	} {
		n.lookAt(kind, append(keysOf(volume, "one", "1"),
			look{v: volume("", ""), as: nobody, script: "id -u; cat v/two", want: "1000\n2"},
			look{v: volume("", ", items: [{key: one, path: path/to/it}]"), as: nobody, script: "id -u; cat v/path/to/it", want: "1000\n1"},
			look{v: volume("", ""), script: "od -An -tx1 v/raw", want: " 00 01 02 80 ff\n"},
		)...)
	}
}

func (n *node) secretVolumes() {
	n.t.Helper()
	for kind, volume := range map[string]func(mode, rest string) string{
		"secret": secretVolume, "projected-secret": projectedVolume("secret", "login"),
	} {
		n.lookAt(kind, append(keysOf(volume, "password", "tr0ub4dor"),
			look{v: volume("0440", ""), as: nobody + ", fsGroup: 1001", script: "cat v/password; stat -Lc ' %a %u:%g' v/password", want: "tr0ub4dor 440 0:1001\n"},
			look{v: volume("", ""), script: "cat v/user", want: "eve"},
		)...)
	}
}

func (n *node) podVolumes() {
	n.t.Helper()
	cpus, memory := n.allocatable()
	for kind, volume := range map[string]func(mode, items string) string{
		"downward": func(mode, items string) string {
			return "downwardAPI: {items: [" + items + "]" + option("defaultMode", mode) + "}"
		},
		"projected-downward": func(mode, items string) string {
			return "projected: {sources: [{downwardAPI: {items: [" + items + "]}}]" + option("defaultMode", mode) + "}"
		},
	} {
		name := func(mode string) string { return "{path: it, fieldRef: {fieldPath: metadata.name}" + mode + "}" }
		amount := func(of string) string {
			return "{path: it, resourceFieldRef: {containerName: main, resource: " + of + "}}"
		}
		const amounts = "requests: {cpu: 250m, memory: 16Mi}, limits: {cpu: 1250m, memory: 32Mi}"
		n.lookAt(kind,
			look{v: volume("", name("")), script: "cat v/it", want: kind + "-0"},
			look{v: volume("0400", name("")), script: "stat -Lc %a v/it", want: "400\n"},
			look{v: volume("", name(", mode: 0400")), script: "stat -Lc %a v/it", want: "400\n"},
			look{v: volume("", amount("limits.cpu")), amounts: amounts, script: "cat v/it", want: "2"},
			look{v: volume("", amount("limits.memory")), amounts: amounts, script: "cat v/it", want: "33554432"},
			look{v: volume("", amount("requests.cpu")), amounts: amounts, script: "cat v/it", want: "1"},
			look{v: volume("", amount("requests.memory")), amounts: amounts, script: "cat v/it", want: "16777216"},
			look{v: volume("", amount("limits.cpu")), script: "cat v/it", want: cpus},
			look{v: volume("", amount("limits.memory")), script: "cat v/it", want: memory},
		)
	}
	n.lookAt("all", look{
		v: "projected: {sources: [{configMap: {name: settings}}, {secret: {name: login}}, " +
			"{downwardAPI: {items: [{path: it, fieldRef: {fieldPath: metadata.name}}]}}]}",
		script: "cat v/one v/user v/it", want: "1eveall-0",
	})
}

// allocatable returns the node's CPUs and bytes for pods.
func (n *node) allocatable() (cpus, memory string) {
	n.t.Helper()
	var told struct{ Allocatable corev1.ResourceList }
	n.curl("/v1/node").into(n, &told)
	return fmt.Sprint(told.Allocatable.Cpu().Value()), fmt.Sprint(told.Allocatable.Memory().Value())
}

func (n *node) emptyVolumes() {
	n.t.Helper()
	const kind = `; df v | tail -1 | awk '{print $1 == "tmpfs"}'`
	for medium, tmpfs := range map[string]string{"": "0\n", "Memory": "1\n"} {
		mode := map[string]string{"": "777\n", "Memory": "1777\n"}[medium] // the kernel gives a tmpfs the sticky bit
		volume := "emptyDir: {" + strings.TrimPrefix(option("medium", medium), ", ") + "}"
		looks := []look{{v: volume, script: "stat -c %a v" + kind, want: mode + tmpfs}}
		for as, uid := range map[string]string{"": "0", nobody: "1000"} {
			for _, mode := range []string{"644", "666", "777"} {
				looks = append(looks, look{
					v: volume, as: as, script: "echo new >v/file && chmod 0" + mode + " v/file && cat v/file && stat -c '%a %u' v/file" + kind,
					want: fmt.Sprintf("new\n%s %s\n%s", mode, uid, tmpfs),
				})
			}
		}
		n.lookAt(strings.ToLower("empty"+medium), looks...)
	}
}
