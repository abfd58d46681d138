package e2e

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// look is a script that examines volumes, with its expected output.
type look struct {
	v, w    string // the volumes; w may be empty
	as      string // the security context of its pod
	amounts string // the resources of its container
	script  string // runs in a directory that holds v and w
	want    string
}

// viewer is a pod that runs looks one after the other and ends.
type viewer struct {
	name  string
	looks []look // all with the same security context and amounts
}

const nextLook = "-- next --\n"

func (p viewer) manifest() string {
	var volumes, mounts, script []string
	for i, l := range p.looks {
		for which, source := range []string{l.v, l.w} {
			if name := "vw"[which : which+1]; source != "" {
				volumes = append(volumes, fmt.Sprintf("{name: %s%d, %s}", name, i, source))
				mounts = append(mounts, fmt.Sprintf("{name: %s%d, mountPath: /look/%[2]d/%[1]s}", name, i))
			}
		}
		script = append(script, fmt.Sprintf("cd /look/%d; %s", i, l.script))
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
`, p.name, p.looks[0].as, strings.Join(volumes, ", "), strings.Join(script, "; echo '"+strings.TrimSpace(nextLook)+"'; "), p.looks[0].amounts, strings.Join(mounts, ", "))
}

// lookAt runs looks side by side, in as few pods as possible.
func (n *node) lookAt(kind string, looks ...look) {
	n.t.Helper()
	var viewers []viewer
	at := map[[2]string]int{}
	for _, l := range looks {
		i, ok := at[[2]string{l.as, l.amounts}]
		if !ok {
			i = len(viewers)
			at[[2]string{l.as, l.amounts}] = i
			viewers = append(viewers, viewer{name: fmt.Sprintf("%s-%d", kind, i)})
		}
		viewers[i].looks = append(viewers[i].looks, l)
	}
	manifest := ""
	for _, p := range viewers {
		manifest += p.manifest()
	}
	n.apply(manifest)
	for _, p := range viewers {
		n.seenBy(p)
	}
}

// seenBy waits until a pod ends, and compares its output.
func (n *node) seenBy(p viewer) {
	n.t.Helper()
	object := n.wait(p.name, p.name+" has ended", func(p *corev1.Pod) bool {
		return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
	})
	said := strings.Split(n.curl("/v1/namespaces/default/pods/"+p.name+"/containers/main/logs").body, nextLook)
	if len(said) != len(p.looks) || object.Status.Phase != corev1.PodSucceeded {
		n.t.Fatalf("pod %s is %s and said %q, want %d looks", p.name, object.Status.Phase, said, len(p.looks))
	}
	for i, l := range p.looks {
		if said[i] != l.want {
			n.t.Errorf("pod %s said %q, want %q; its volumes are\n%s\n%s\nand it ran %s", p.name, said[i], l.want, l.v, l.w, l.script)
		}
	}
}

// changingVolumes runs a pod until it has seen every change of its volumes.
func (n *node) changingVolumes() {
	n.t.Helper()
	const facts = "downwardAPI: {items: [{path: labels, fieldRef: {fieldPath: metadata.labels}}, {path: annotations, fieldRef: {fieldPath: metadata.annotations}}]}"
	three := func(kind string) string {
		return fmt.Sprintf("projected: {sources: [{%[1]s: {name: goes, optional: true}}, {%[1]s: {name: changes, optional: true}}, {%[1]s: {name: comes, optional: true}}]}", kind)
	}
	// A file that disappears during the look is no failure.
	until := func(holds string) string {
		return "until { " + holds + "; } 2>/dev/null; do usleep 20000; done; echo seen"
	}
	changed, came := until(`[ "$(cat v/changes w/changes)" = newnew ]`), until(`[ "$(ls v)$(cat v/* w/comes)" = "changes
comesnewnewnew" ]`)
	p := viewer{name: "changing", looks: []look{
		{v: "configMap: {name: changes}", w: projectedVolume("configMap", "changes")("", ""), script: changed, want: "seen\n"},
		{v: "secret: {secretName: changes}", w: projectedVolume("secret", "changes")("", ""), script: changed, want: "seen\n"},
		{v: three("configMap"), w: "configMap: {name: comes, optional: true}", script: came, want: "seen\n"},
		{v: three("secret"), w: "secret: {secretName: comes, optional: true}", script: came, want: "seen\n"},
		{v: "configMap: {name: goes, optional: true}", w: "secret: {secretName: goes, optional: true}", script: until(`[ -z "$(ls v w | grep goes)" ]`), want: "seen\n"},
		{v: facts, w: "projected: {sources: [{" + facts + "}]}",
			script: until(`[ $(cat v/* w/* | grep -o 'tier="back"\|build="8"' | wc -l) = 4 ]`), want: "seen\n"},
	}}
	n.apply(both("goes", "old") + both("changes", "old") + p.manifest())
	n.wait(p.name, "it runs", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning })
	n.apply(both("changes", "new") + both("comes", "new") + strings.NewReplacer("tier: front", "tier: back", `build: "7"`, `build: "8"`).Replace(p.manifest()))
	for _, kind := range []string{"configmaps", "secrets"} {
		if got := n.curl("/v1/namespaces/default/"+kind+"/goes", "-X", "DELETE"); got.code != 200 {
			n.t.Fatalf("delete one of the %s: got %s", kind, got)
		}
	}
	n.seenBy(p)
}

// both returns a ConfigMap and a Secret of one name, with a key of that name.
func both(name, value string) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %[1]s}\ndata: {%[1]s: %[2]s}\n"+
		"---\napiVersion: v1\nkind: Secret\nmetadata: {name: %[1]s}\nstringData: {%[1]s: %[2]s}\n", name, value)
}
