package e2e

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// look is a pod that looks at its volumes v and w, says what it saw and ends.
type look struct {
	name    string // its pod's; made up if empty
	v, w    string // the volumes; w may be empty
	as      string // the pod's security context
	amounts string // resources of its container
	script  string // v is mounted at /v, w at /w
	want    string
}

func (l look) manifest() string {
	volumes, mounts := "{name: v, "+l.v+"}", "{name: v, mountPath: /v}"
	if l.w != "" {
		volumes, mounts = volumes+", {name: w, "+l.w+"}", mounts+", {name: w, mountPath: /w}"
	}
	return fmt.Sprintf(`---
apiVersion: v1
kind: Pod
metadata: {name: %s, labels: {tier: front}, annotations: {build: "7"}}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  securityContext: {%s}
  volumes: [%s]
  containers:
  - name: main
    image: nodal.test/busybox:1
    command: [sh, -c, %q]
    resources: {%s}
    volumeMounts: [%s]
`, l.name, l.as, volumes, l.script, l.amounts, mounts)
}

// lookAt runs all the pods side by side and compares what they say.
func (n *node) lookAt(kind string, looks ...look) {
	n.t.Helper()
	manifest := ""
	for i := range looks {
		if looks[i].name == "" {
			looks[i].name = fmt.Sprintf("%s-%d", kind, i)
		}
		manifest += looks[i].manifest()
	}
	n.apply(manifest)
	for _, l := range looks {
		n.told(l)
	}
}

// told waits for a pod to end and compares what it said.
func (n *node) told(l look) {
	n.t.Helper()
	p := n.wait(l.name, l.name+" has ended", func(p *corev1.Pod) bool {
		return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
	})
	got := n.curl("/v1/namespaces/default/pods/" + l.name + "/containers/main/logs").body
	if p.Status.Phase != corev1.PodSucceeded || got != l.want {
		n.t.Errorf("pod %s is %s and said %q, want %q; its volumes are\n%s\n%s\nand it ran %s", l.name, p.Status.Phase, got, l.want, l.v, l.w, l.script)
	}
}

func (n *node) changingVolumes() {
	n.t.Helper()
	const facts = "downwardAPI: {items: [{path: labels, fieldRef: {fieldPath: metadata.labels}}, {path: annotations, fieldRef: {fieldPath: metadata.annotations}}]}"
	three := func(kind, name string) string {
		return fmt.Sprintf("projected: {sources: [{%[1]s: {%[2]s: goes, optional: true}}, {%[1]s: {%[2]s: changes, optional: true}}, {%[1]s: {%[2]s: comes, optional: true}}]}", kind, name)
	}
	until := func(holds string) string { return "until " + holds + "; do usleep 20000; done; echo seen" }
	changed := until(`[ "$(cat /v/changes /w/changes)" = newnew ]`)
	looks := []look{
		{name: "maps", v: "configMap: {name: changes}", w: projectedVolume("configMap", "changes")("", ""), script: changed},
		{name: "secrets", v: "secret: {secretName: changes}", w: projectedVolume("secret", "changes")("", ""), script: changed},
		{name: "some-maps", v: three("configMap", "name"), w: "configMap: {name: comes, optional: true}",
			script: until(`[ "$(cd /v; echo *)" = "changes comes" -a "$(cat /v/changes /w/comes)" = newnew ]`)},
		{name: "some-secrets", v: three("secret", "name"), w: "secret: {secretName: comes, optional: true}",
			script: until(`[ "$(cd /v; echo *)" = "changes comes" -a "$(cat /v/changes /w/comes)" = newnew ]`)},
		{name: "gone-map", v: "configMap: {name: goes, optional: true}", w: "secret: {secretName: goes, optional: true}",
			script: until(`[ -z "$(ls /v /w | grep goes)" ]`)},
		{name: "facts", v: facts, w: "projected: {sources: [{" + facts + "}]}",
			script: until(`[ "$(cat /v/labels /w/labels | grep -c back)$(cat /v/annotations /w/annotations | grep -c 8)" = 22 ]`)},
	}
	manifest := ""
	for _, l := range looks {
		manifest += l.manifest()
	}
	n.apply(both("goes", "old") + both("changes", "old") + manifest)
	for _, l := range looks {
		n.wait(l.name, l.name+" runs", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning })
	}
	n.apply(both("changes", "new") + both("comes", "new") + strings.NewReplacer("tier: front", "tier: back", `build: "7"`, `build: "8"`).Replace(looks[len(looks)-1].manifest()))
	for _, kind := range []string{"configmaps", "secrets"} {
		if got := n.curl("/v1/namespaces/default/"+kind+"/goes", "-X", "DELETE"); got.code != 200 {
			n.t.Fatalf("delete one of the %s: got %s", kind, got)
		}
	}
	for _, l := range looks {
		l.want = "seen\n"
		n.told(l)
	}
}

// both are a ConfigMap and a Secret of a name, with a key of that name.
func both(name, value string) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %[1]s}\ndata: {%[1]s: %[2]s}\n"+
		"---\napiVersion: v1\nkind: Secret\nmetadata: {name: %[1]s}\nstringData: {%[1]s: %[2]s}\n", name, value)
}
