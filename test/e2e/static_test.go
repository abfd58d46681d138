package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/test/agent"
	"nodal/test/claim"
)

// manifests starts a node that takes pods from a directory, and returns the directory too.
func manifests(t *testing.T, flags ...string) (n *node, dir string) {
	n = start(t, func(c *agent.Config) {
		c.Flags = slices.Concat(c.Flags, flags, []string{"--pod-manifest-path", filepath.Join(c.Dir, "manifests")})
	})
	n.file("node/manifests/.here", "")
	return n, filepath.Join(n.rt.Dir, "node/manifests")
}

// successor waits until a new pod with a static pod's name is ready, and fails if it began before
// the former one had ended.
func (n *node) successor(name string, before *corev1.Pod, events *tail) *corev1.Pod {
	n.t.Helper()
	events.until(`"Removed"`)
	events.until(`"SandboxCreated"`)
	after := n.wait(name, "a successor of "+name, func(p *corev1.Pod) bool {
		return ready(p) && containerStatus(p, "main").ContainerID != containerStatus(before, "main").ContainerID
	})
	if got := n.sandboxes(name); got != 1 {
		n.t.Errorf("%s has %d sandboxes, want one", name, got)
	}
	return after
}

func TestReturningStaticPodWaitsForItsPredecessor(t *testing.T) {
	claim.Shows(t, "Ways in",
		"the same file again is the same static pod, by UID, which starts again when the former one has ended",
		"a static pod whose file is renamed is another pod, which begins when the former one has ended",
		"of static pods that follow each other within a grace period only the last one runs",
	)
	n, dir := manifests(t)
	path := func(name string) string { return filepath.Join(dir, name) }
	p := shell("web", "trap 'sleep 3; exit 0' TERM; while :; do sleep 0.1; done")
	p.grace = 20
	put := func(file, text string) { n.file("node/manifests/"+file, text) }
	drop := func(file string) {
		if err := os.Remove(path(file)); err != nil {
			t.Fatal(err)
		}
		n.wait("web-node-a", "its end begun", func(p *corev1.Pod) bool { return p.DeletionTimestamp != nil })
	}
	put("a.yaml", p.yaml())
	first := n.waitRunning("web-node-a")

	events := n.follow("/v1/events:watch")
	events.until(`"SandboxCreated"`)
	drop("a.yaml")
	put("a.yaml", p.yaml())
	second := n.successor("web-node-a", first, events)
	if second.UID != first.UID || containerStatus(second, "main").RestartCount != 1 {
		t.Errorf("the pod came back as %s with %d restarts, want %s with one", second.UID, containerStatus(second, "main").RestartCount, first.UID)
	}

	if err := os.Rename(path("a.yaml"), path("b.yaml")); err != nil {
		t.Fatal(err)
	}
	third := n.successor("web-node-a", second, events)
	if third.UID == second.UID || containerStatus(third, "main").RestartCount != 0 {
		t.Errorf("the renamed pod is %s with %d restarts, want another than %s", third.UID, containerStatus(third, "main").RestartCount, second.UID)
	}

	drop("b.yaml")
	for _, label := range []string{"one", "two", "three"} {
		p.labels = map[string]string{"version": label}
		put("b.yaml", p.yaml())
	}
	last := n.wait("web-node-a", "the last of them", func(p *corev1.Pod) bool { return ready(p) && p.Labels["version"] == "three" })
	if got := n.containers("web-node-a"); len(got) != 1 || last.UID == third.UID {
		t.Errorf("the runtime has %+v of pod %s, want its only run", got, last.UID)
	}
}

// TestStaticPodsShareNamesAndUsePostedObjects uses a node that runs static pods only.
func TestStaticPodsShareNamesAndUsePostedObjects(t *testing.T) {
	claim.Shows(t, "Admission",
		"a pod that does not tolerate the NoExecute taints of registerWithTaints fails with TaintToleration, unless it is static",
	)
	claim.Shows(t, "Ways in",
		"of two files that name one static pod the first keeps it; the other causes an event, and takes over when the first is gone",
		"a static pod may use ConfigMaps and Secrets that were posted; a field that only a cluster can serve is refused",
	)
	n, dir := manifests(t, "--register-with-taints", "kept=static:NoExecute,new=:NoSchedule")
	n.file("node/manifests/a.yaml", web("web").yaml())
	first := n.waitRunning("web-node-a")
	events := n.follow("/v1/events:watch")
	n.file("node/manifests/0.yaml", strings.Replace(web("web").yaml(), "spec:\n", "  labels: {from: other}\nspec:\n", 1))
	events.until("0.yaml")
	if got := n.get("web-node-a"); got.UID != first.UID || !ready(got) {
		t.Errorf("beside another file the pod is %s, want %s", got.UID, first.UID)
	}
	if err := os.Remove(filepath.Join(dir, "a.yaml")); err != nil {
		t.Fatal(err)
	}
	n.wait("web-node-a", "the other one", func(p *corev1.Pod) bool { return ready(p) && p.Labels["from"] == "other" })

	for _, c := range []struct{ name, line, says string }{
		{"token", "  volumes: [{name: t, projected: {sources: [{serviceAccountToken: {path: token}}]}}]", "serviceAccountToken"},
		{"certificate", "  volumes: [{name: t, projected: {sources: [{podCertificate: {signerName: example.com/s, keyType: ED25519, keyPath: key}}]}}]", "podCertificate"},
		{"claims", "  resourceClaims: [{name: gpu, resourceClaimName: gpu}]", "resourceClaims"},
		{"mirror", "", "kubernetes.io/config.mirror"},
	} {
		text := web(c.name).yaml() + c.line + "\n"
		if c.line == "" {
			text = strings.Replace(text, "spec:\n", "  annotations: {kubernetes.io/config.mirror: x}\nspec:\n", 1)
		}
		n.file("node/manifests/"+c.name+".yaml", text)
		if told := events.until(c.name + ".yaml"); !strings.Contains(told, "InvalidManifest") || !strings.Contains(told, c.says) {
			t.Errorf("%s: the event is %s, want InvalidManifest with %s", c.name, told, c.says)
		}
	}
	n.file("node/manifests/served.yaml", adding(web("served"),
		"env: [{name: A, valueFrom: {configMapKeyRef: {name: words, key: a}}}, {name: B, valueFrom: {secretKeyRef: {name: keys, key: b}}}]",
	)+"  serviceAccountName: nobody\n")
	n.wait("served-node-a", "what it uses missing", func(p *corev1.Pod) bool { return waits(p, "CreateContainerConfigError") })
	n.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: words}\ndata: {a: hello}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: keys}\nstringData: {b: secret}\n")
	n.waitRunning("served-node-a")
	if env := n.environ("served-node-a", "main"); env["A"] != "hello" || env["B"] != "secret" {
		t.Errorf("the static pod has A=%q and B=%q in its environment", env["A"], env["B"])
	}

	n.apply(web("stranger").yaml())
	p := n.wait("stranger", "refused", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
	if p.Status.Reason != "TaintToleration" || !strings.Contains(p.Status.Message, "Predicate TaintToleration failed: node(s) had taints") {
		t.Errorf("a pod that tolerates nothing failed with %s: %s", p.Status.Reason, p.Status.Message)
	}
	n.apply(web("guest").yaml() + "  tolerations: [{key: kept, value: static, effect: NoExecute}]\n")
	n.waitRunning("guest")
}
