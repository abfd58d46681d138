package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/test/claim"
)

// A pod waits for objects that are posted after it; no API server is needed.
func TestPodsUseConfigMapsAndSecrets(t *testing.T) {
	claim.Shows(t, "ConfigMaps and Secrets",
		"env and envFrom take values of ConfigMaps and Secrets",
		"a pod waits for a missing Secret, says so, and starts when it is posted",
		"Secrets are encrypted on the disk with a key that only the owner can read, and come back after a restart",
	)
	n := start(t)
	tell := shell("tell", `echo "mode=$MODE password=$S_password"; exec sleep 1000`)
	n.apply(strings.Replace(tell.yaml(), "    args:\n", `    envFrom:
    - {prefix: S_, secretRef: {name: login}}
    env:
    - {name: MODE, valueFrom: {configMapKeyRef: {name: settings, key: mode}}}
    args:
`, 1))
	n.wait("tell", "it waits and says for what", func(p *corev1.Pod) bool {
		w := containerStatus(p, "main").State.Waiting
		return w != nil && w.Reason == "CreateContainerConfigError" && strings.Contains(w.Message, `secret "login" not found`)
	})
	n.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {mode: fast}\n---\n" +
		"apiVersion: v1\nkind: Secret\nmetadata: {name: login}\nstringData: {password: tr0ub4dor}\n")
	p := n.waitRunning("tell")
	if got := containerStatus(p, "main").RestartCount; got != 0 {
		t.Errorf("it restarted %d times", got)
	}
	n.eventually("the container prints its configuration", func() bool {
		return strings.Contains(n.curl("/v1/namespaces/default/pods/tell/containers/main/logs").body, "mode=fast password=tr0ub4dor")
	})
	n.Kill()
	// Neither revision of the secret can be read from the disk.
	if out, err := exec.Command("grep", "-rl", "-e", "tr0ub4dor", "-e", "dHIwdWI0ZG9y", n.Root()).Output(); len(out) > 0 {
		t.Errorf("the secret lies open in %s (%v)", out, err)
	}
	if info, err := os.Stat(filepath.Join(n.Root(), "secrets.key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key of the secrets: %v, %v; want it for its owner alone", info, err)
	}
	n.up()
	if got := n.curl("/v1/namespaces/default/secrets/login"); !strings.Contains(got.body, "dHIwdWI0ZG9y") {
		t.Errorf("after a restart root is shown %s, want the secret", got)
	}
}

func TestWatchOfObjectsSendsEachChangeAndResumes(t *testing.T) {
	claim.Shows(t, "ConfigMaps and Secrets",
		"a watch sends the objects of some kinds, a marker, then each change, and resumes after a revision")
	n := start(t)
	settings := func(mode string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {mode: " + mode + "}\n"
	}
	n.apply(settings("fast"))
	n.apply("apiVersion: v1\nkind: Secret\nmetadata: {name: login}\nstringData: {password: tr0ub4dor}\n")
	lines := n.follow("/v1/objects:watch?kinds=configmaps")
	if got := lines.message(`"settings"`); got.Type != "WATCH_TYPE_ADDED" {
		t.Errorf("got %s first, want the object as it is", got.Type)
	}
	synced := lines.message("WATCH_TYPE_SYNCED")
	n.apply(settings("slow"))
	if got := lines.message(`"mode":"slow"`); got.Type != "WATCH_TYPE_MODIFIED" {
		t.Errorf("got %s after a change", got.Type)
	}
	if got := n.curl("/v1/namespaces/default/objects/configmaps/settings", "-X", "DELETE"); got.code != 200 {
		t.Fatalf("delete: %s", got)
	}
	lines.message("WATCH_TYPE_DELETED")
	resumed := n.follow("/v1/objects:watch?sinceRevision=" + synced.Revision)
	if got := resumed.message(`"type"`); got.Type != "WATCH_TYPE_DELETED" {
		t.Errorf("got %s after %s, want the deletion alone", got.Type, synced.Revision)
	}
	resumed.message("WATCH_TYPE_SYNCED")
	if all := n.follow("/v1/objects:watch").until(`"login"`); strings.Contains(all, "dHIwdWI0ZG9y") {
		t.Errorf("the watch shows the value of a Secret: %s", all)
	}
}
