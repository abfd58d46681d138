package kube

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func applyConfig(t *testing.T, text string) *object {
	t.Helper()
	made := &object{}
	if err := yaml.Unmarshal([]byte(text), &made.Object); err != nil {
		t.Fatal(err)
	}
	made, err := plain(made)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// manifestWith is a manifest of a pod with these fields of its spec.
func manifestWith(spec string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: " + spec + "\n"
}

func TestListsAreMergedByTheirKeys(t *testing.T) {
	pods := ownersOf(&resource{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Pod"), object: new(corev1.Pod)})
	for _, c := range []struct {
		name         string
		alice, bob   string // what each applies, in this order
		later        string // what Alice applies then
		want, faults string // of the last step that is made
	}{
		{"containers by name", `{containers: [{name: a, image: "a:1"}]}`, `{containers: [{name: b, image: "b:1"}]}`, "",
			`{"containers":[{"image":"a:1","name":"a"},{"image":"b:1","name":"b"}]}`, ""},
		{"a container that is not wanted any more", `{containers: [{name: a, image: "a:1"}, {name: c, image: "c:1"}]}`,
			`{containers: [{name: b, image: "b:1"}]}`, `{containers: [{name: a, image: "a:1"}]}`,
			`{"containers":[{"image":"a:1","name":"a"},{"image":"b:1","name":"b"}]}`, ""},
		{"a container of which another manager has set a part", `{containers: [{name: a, image: "a:1"}]}`,
			`{containers: [{name: a, stdin: true}]}`, `{hostNetwork: true}`, `{"containers":[{"name":"a","stdin":true}],"hostNetwork":true}`, ""},
		{"ports by number and protocol", `{containers: [{name: a, ports: [{containerPort: 53}]}]}`,
			`{containers: [{name: a, ports: [{containerPort: 53, protocol: UDP}]}]}`, "",
			`{"containers":[{"name":"a","ports":[{"containerPort":53},{"containerPort":53,"protocol":"UDP"}]}]}`, ""},
		{"a port is TCP if it does not say", `{containers: [{name: a, ports: [{containerPort: 53, name: dns}]}]}`,
			`{containers: [{name: a, ports: [{containerPort: 53, protocol: TCP, name: tcp}]}]}`, "", "", `.name`},
		{"variables by name", `{containers: [{name: a, env: [{name: X, value: "1"}, {name: Z, value: "3"}]}]}`,
			`{containers: [{name: a, env: [{name: W, value: "2"}]}]}`, `{containers: [{name: a, env: [{name: X, value: "5"}]}]}`,
			`{"containers":[{"env":[{"name":"X","value":"5"},{"name":"W","value":"2"}],"name":"a"}]}`, ""},
		{"volumes by name", `{volumes: [{name: a, emptyDir: {}}]}`, `{volumes: [{name: b, hostPath: {path: /b}}]}`, "",
			`{"volumes":[{"emptyDir":{},"name":"a"},{"hostPath":{"path":"/b"},"name":"b"}]}`, ""},
		{"mounts by path", `{containers: [{name: a, volumeMounts: [{name: v, mountPath: /a}]}]}`,
			`{containers: [{name: a, volumeMounts: [{name: v, mountPath: /b}]}]}`, "",
			`{"containers":[{"name":"a","volumeMounts":[{"mountPath":"/a","name":"v"},{"mountPath":"/b","name":"v"}]}]}`, ""},
		{"tolerations are one thing", `{tolerations: [{key: a}]}`, `{tolerations: [{key: b}]}`, "", "", "conflict with \"alice\": .spec.tolerations"},
		{"arguments are one thing", `{containers: [{name: a, args: [x]}]}`, `{containers: [{name: a, args: [y]}]}`, "", "", `.spec.containers[name="a"].args`},
		{"labels of nodes are one thing", `{nodeSelector: {a: b}}`, `{nodeSelector: {c: d}}`, "", "", ".spec.nodeSelector"},
		{"the same value by both, and one leaves it", `{hostNetwork: true}`, `{hostNetwork: true}`, `{hostPID: true}`, `{"hostNetwork":true,"hostPID":true}`, ""},
		{"the status is not for those who apply", "{hostPID: true}\nstatus: {phase: Failed}", "{hostIPC: true}\nstatus: {phase: Running}", "", `{"hostIPC":true,"hostPID":true}`, ""},
		{"two elements with one key", `{containers: [{name: a}]}`, `{containers: [{name: b}, {name: b}]}`, "", "", "duplicate"},
	} {
		live := emptyObject(corev1.SchemeGroupVersion.WithKind("Pod"))
		var err error
		for _, step := range []struct{ manager, spec string }{{"alice", c.alice}, {"bob", c.bob}, {"alice", c.later}} {
			if step.spec != "" && err == nil {
				live, err = pods.applied(live, applyConfig(t, manifestWith(step.spec)), step.manager, false)
			}
		}
		if c.faults != "" {
			if err == nil || !strings.Contains(err.Error(), c.faults) {
				t.Errorf("%s: got %v, want an error with %q", c.name, err, c.faults)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if text, _ := json.Marshal(live.Object["spec"]); string(text) != c.want {
			t.Errorf("%s: got %s, want %s", c.name, text, c.want)
		}
	}
}

func TestProgramsAreManagersByTheirName(t *testing.T) {
	for agent, want := range map[string]string{
		"kubectl/v1.36.0 (linux/amd64) kubernetes/1": "kubectl", "kubectl-edit": "kubectl-edit", "": "", "a\x01b/1": "ab",
		strings.Repeat("ä", 100) + "/1": strings.Repeat("ä", 64),
	} {
		if got := programOf(agent); got != want {
			t.Errorf("%q: got %q, want %q", agent, got, want)
		}
	}
}
