package cluster

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/test/agent"
	"nodal/test/claim"
	"nodal/test/daemon"
	controlplane "nodal/test/plane"
	"nodal/test/rig"
)

var apisync string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "nodal-apisync-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	apisync = filepath.Join(dir, "apisync")
	code := 1
	if out, err := exec.Command("go", "build", "-o", apisync, "nodal/cmd/apisync").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build apisync: %v\n%s", err, out)
	} else {
		code = agent.Main(m)
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

// world is a cluster of one node.
type world struct {
	*plane
	node *daemon.Daemon
	sync program
}

func newWorld(t *testing.T, flags ...string) *world {
	t.Helper()
	p := startPlane(t, flags...)
	return p.join(p.kubeconfig(controlplane.Node))
}

// join starts a node, and apisync beside it, with this kubeconfig.
func (p *plane) join(kubeconfig string) *world {
	p.t.Helper()
	w := &world{plane: p, node: daemon.Start(p.t, rig.Containerd(p.t))}
	// Silent connections are noticed within seconds.
	w.sync = start(p.t, "/usr/bin/env", "HTTP2_READ_IDLE_TIMEOUT_SECONDS=2", "HTTP2_PING_TIMEOUT_SECONDS=3", apisync, "--kubeconfig", kubeconfig,
		"--node-labels", "disk=ssd", "--kubelet-port", fmt.Sprint(w.node.Port), "--lease-duration", "8s", "--socket", w.node.Socket)
	return w
}

const podsPath = "/api/v1/namespaces/default/pods"

func (w *world) pod(name string) *corev1.Pod {
	w.t.Helper()
	if p, ok := get[corev1.Pod](w.plane, podsPath+"/"+name); ok {
		return &p
	}
	return nil
}

func (w *world) await(name, wanted string, holds func(*corev1.Pod) bool) *corev1.Pod {
	w.t.Helper()
	var last *corev1.Pod
	held := false
	defer func() {
		if !held {
			w.t.Logf("the cluster has %+v, and the node has logged\n%s", last, w.node.LogOf(name))
		}
	}()
	w.eventually(name+" "+wanted, func() bool { last = w.pod(name); return last != nil && holds(last) })
	held = true
	return last
}

// awaitGone waits until the API server says that the pod is gone. An error does not count.
func (w *world) awaitGone(name string) {
	w.t.Helper()
	w.eventually(name+" gone", func() bool {
		code, _ := w.try("GET", podsPath+"/"+name, "", nil)
		return code == http.StatusNotFound
	})
}

func ready(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func manifest(name, rest string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: %s, namespace: default, labels: {app: %s}}\nspec:\n  nodeName: node-a\n  terminationGracePeriodSeconds: 1\n%s", name, name, rest)
}

const sleeper = "  containers:\n  - {name: main, image: \"nodal.test/busybox:1\", command: [sh, -c, \"exec sleep 1000\"]}\n"

// mortal ends as soon as it is asked to.
const mortal = "  containers:\n  - {name: main, image: \"nodal.test/busybox:1\", command: [sh, -c, \"until [ -e /die ]; do usleep 50000; done; exit 1\"]}\n"

func TestNodeJoinsAndRunsWhatTheClusterBinds(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "In a cluster",
		"a node registers itself, with its labels, capacity, addresses, conditions, images and features, and renews its lease",
		"a pod that is bound to the node runs, and its status is the cluster's",
		"a deleted pod ends within its grace period, and leaves the cluster when nothing of it is left on the node",
		"ConfigMaps and Secrets are on the node as long as a pod there uses them, and follow changes",
		"ClusterTrustBundles are on the node as long as a pod there uses them, by name or by signer, and follow changes",
		"a pod that selects its node by labels is matched against those of the Node object in the cluster",
		"a pod that ends by itself is reported as ended, and does not run again",
		"a pod has its service account's token, and the API server knows the pod by it",
		"what happens to pods becomes events in the cluster, each once",
		"a pod goes to the node after its ConfigMaps, Secrets and tokens, so that no event tells of those that are on their way",
		"a running pod is resized through the cluster, and its status says which generation of it the node has",
		"an object of the node's own users stays if the cluster has one of its name, and no pod of the cluster gets such a claim: it waits, with an event",
		"a pod whose claim is missing is shown as waiting, with the reason and since when, and runs once the claim is there",
	)
	w := newWorld(t)
	w.post(ownSettings + "---\n" + ownClaim)
	w.eventually("a ready node", func() bool {
		n, _ := get[corev1.Node](w.plane, "/api/v1/nodes/node-a")
		for _, c := range n.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
				declared := len(n.Status.DeclaredFeatures) > 0 || w.minor < 36 // before, API servers drop them
				return len(n.Status.Conditions) == 4 && declared && n.Labels["disk"] == "ssd" && n.Labels[corev1.LabelHostname] == "node-a" && !n.Status.Capacity.Cpu().IsZero() && len(n.Status.Addresses) > 1
			}
		}
		return false
	})
	lease := func() (l coordinationv1.Lease) {
		l, _ = get[coordinationv1.Lease](w.plane, "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node-a")
		return l
	}
	w.eventually("a lease", func() bool { return lease().Spec.RenewTime != nil })
	first := lease()
	if len(first.OwnerReferences) != 1 || *first.Spec.HolderIdentity != "node-a" {
		t.Errorf("the lease is %+v, want it to be the node's", first)
	}
	w.eventually("a renewed lease", func() bool { return lease().Spec.RenewTime.After(first.Spec.RenewTime.Time) })

	w.create("/api/v1/namespaces/default/configmaps", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {mode: fast}\n")
	w.create("/api/v1/namespaces/default/secrets", "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\nstringData: {password: tr0ub4dor}\n")
	w.create(podsPath, manifest("web", "  volumes: [{name: settings, configMap: {name: settings}}, {name: login, secret: {secretName: login}}]\n"+
		"  containers:\n  - {name: main, image: \"nodal.test/busybox:1\", command: [sh, -c, \"exec sleep 1000\"], "+
		"volumeMounts: [{name: settings, mountPath: /settings}, {name: login, mountPath: /login}], "+
		"envFrom: [{configMapRef: {name: own-settings, optional: true}}], resources: {limits: {cpu: 100m, memory: 64Mi}}}\n"))
	w.create(podsPath, manifest("claims", "  volumes: [{name: v, persistentVolumeClaim: {claimName: own-data}}]\n"+sleeper))
	web := w.await("web", "ready", ready)
	if web.Status.Phase != corev1.PodRunning || web.Status.PodIP == "" || web.Status.ObservedGeneration != web.Generation {
		t.Errorf("the status is %+v", web.Status)
	}
	if got := w.inside("web", "cat /settings/mode /login/password"); got != "fasttr0ub4dor" {
		t.Errorf("the volumes hold %q", got)
	}
	token := w.inside("web", "cat /var/run/secrets/kubernetes.io/serviceaccount/token")
	if code, text := w.tryAs(token, "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", "application/json",
		[]byte(`{"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}`)); code >= 300 ||
		!strings.Contains(string(text), "system:serviceaccount:default:default") || !strings.Contains(string(text), string(web.UID)) {
		t.Errorf("by the pod's token the API server answers %d %s", code, text)
	}
	w.ask("PATCH", "/api/v1/namespaces/default/configmaps/settings", "application/merge-patch+json", `{"data": {"mode": "slow"}}`)
	w.eventually("the change in the volume", func() bool { return w.inside("web", "cat /settings/mode") == "slow" })
	w.resizes()
	w.trusts()
	w.chooses()
	w.lacks()

	w.create(podsPath, manifest("job", "  restartPolicy: Never\n  containers:\n  - {name: main, image: \"nodal.test/busybox:1\", command: [sh, -c, \"exit 3\"]}\n"))
	job := w.await("job", "failed", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
	if ended := job.Status.ContainerStatuses[0].State.Terminated; ended == nil || ended.ExitCode != 3 {
		t.Errorf("the job ended as %+v, want code 3", job.Status.ContainerStatuses)
	}

	w.eventually("the pod's events", func() bool { return w.reasons(web)["Started"] == "spec.containers{main}" })
	told := w.reasons(web)
	if early := w.told(web, "FailedMount"); len(early) > 0 {
		t.Errorf("of objects that were on their way the pod was told %q", early)
	}
	claims := w.await("claims", "there", func(*corev1.Pod) bool { return true })
	w.eventually("word of the claim", func() bool { _, ok := w.reasons(claims)["FailedMount"]; return ok })
	w.sync.end()
	w.sync.begin() // at its start it reads all objects again
	w.eventually("the node's images", func() bool {
		n, _ := get[corev1.Node](w.plane, "/api/v1/nodes/node-a")
		return len(n.Status.Images) > 0 && len(n.Status.Images[0].Names) > 0
	})
	w.ask("DELETE", podsPath+"/web", "", "")
	w.awaitGone("web")
	w.eventually("the event of its end", func() bool { return w.reasons(web)["Killing"] != "" })
	for reason := range told {
		if _, ok := w.reasons(web)[reason]; !ok {
			t.Errorf("of event %s there are two, or none", reason)
		}
	}
	for _, name := range []string{"job", "claims", "chooser", "misled", "lacking"} {
		w.ask("DELETE", podsPath+"/"+name, "", "")
		w.awaitGone(name)
	}
	w.eventually("nothing of the cluster's", func() bool { return strings.Count(w.shelf(), ",") == 2 })
	if got := w.shelf(); !strings.Contains(got, "ConfigMap own-settings") || !strings.Contains(got, "PersistentVolumeClaim own-data") {
		t.Errorf("of the objects on the node is left %s", got)
	}
}

// These objects were posted to the node itself.
const (
	ownSettings = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: own-settings}\ndata: {mode: own}\n"
	ownClaim    = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: own-data}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}\n"
)

// post posts manifests to the node, as its own users do.
func (w *world) post(manifest string) {
	w.t.Helper()
	_, err := nodev1.NewManifestsServiceClient(w.node.Conn()).Apply(w.t.Context(), &nodev1.ApplyRequest{Manifest: manifest})
	must(w.t, err)
}

// chooses checks that a label counts which the node was given in the cluster.
func (w *world) chooses() {
	w.t.Helper()
	w.ask("PATCH", "/api/v1/nodes/node-a", "application/merge-patch+json", `{"metadata": {"labels": {"tier": "front"}}}`)
	w.create(podsPath, manifest("chooser", "  nodeSelector: {tier: front, disk: ssd}\n"+sleeper))
	w.create(podsPath, manifest("misled", "  nodeSelector: {tier: back}\n"+sleeper))
	w.await("chooser", "ready", ready)
	shown, err := nodev1.NewPodsServiceClient(w.node.Conn()).GetPod(w.t.Context(), &nodev1.GetPodRequest{Namespace: "default", Name: "chooser"})
	must(w.t, err)
	if got := shown.Pod.GetObject().AsMap()["spec"].(map[string]any)["nodeSelector"]; got == nil {
		w.t.Error("the node does not show by what the pod chose it")
	}
	misled := w.await("misled", "failed", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
	if misled.Status.Reason != "NodeAffinity" {
		w.t.Errorf("the pod that wants another node says %s: %s", misled.Status.Reason, misled.Status.Message)
	}
}

// lacks checks what the cluster sees of a pod whose claim comes late.
func (w *world) lacks() {
	w.t.Helper()
	w.create(podsPath, manifest("lacking", "  volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]\n"+
		"  containers:\n  - {name: main, image: \"nodal.test/busybox:1\", command: [sh, -c, \"exec sleep 1000\"], volumeMounts: [{name: v, mountPath: /v}]}\n"))
	before := w.await("lacking", "shown as waiting", waits("ContainerCreating"))
	if s := before.Status; s.Phase != corev1.PodPending || s.Reason != "FailedMount" || !strings.Contains(s.Message, `persistentvolumeclaims "data" not found`) ||
		s.HostIP == "" || s.StartTime == nil || s.ObservedGeneration != before.Generation || len(s.Conditions) != 5 || ready(before) {
		w.t.Errorf("the pod that waits is %+v", s)
	}
	w.claim("node-a", w.t.TempDir())
	after := w.await("lacking", "ready", ready)
	if s := after.Status; s.Reason != "" || s.Message != "" || !s.StartTime.Equal(before.Status.StartTime) {
		w.t.Errorf("the pod that has waited since %s is %+v", before.Status.StartTime, s)
	}
}

// resizes checks that web gets more CPU while it runs.
func (w *world) resizes() {
	w.t.Helper()
	w.ask("PATCH", podsPath+"/web/resize", "application/strategic-merge-patch+json",
		`{"spec": {"containers": [{"name": "main", "resources": {"requests": {"memory": "96Mi"}, "limits": {"memory": "96Mi"}}}]}}`)
	web := w.await("web", "larger", func(p *corev1.Pod) bool {
		has := p.Status.ContainerStatuses[0].Resources
		return has != nil && has.Limits.Memory().String() == "96Mi" && p.Generation == 2 && p.Status.ObservedGeneration == 2
	})
	if c := web.Status.ContainerStatuses[0]; c.RestartCount != 0 || !ready(web) {
		w.t.Errorf("the resized pod became %+v", web.Status)
	}
}

func TestKubeletJoinsWithoutApisync(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "In a cluster",
		"a kubelet with --kubeconfig joins without apisync, with its taints, its provider ID, and the taint that keeps pods out until the cloud provider has initialized it, which also says its addresses",
		"a pod from a file shows in the cluster, again when it is deleted there",
		"a kubelet with --kubeconfig that is killed and started again adopts its pods, and none of them restarts",
		"a kubelet with --kubeconfig starts without the API server, and runs the pods that it had",
		"a deleted Node object is made again at the next report of the node's status",
	)
	p, files := startPlane(t), t.TempDir()
	must(t, os.WriteFile(filepath.Join(files, "static.yaml"), []byte(strings.Replace(manifest("static", sleeper), "  nodeName: node-a\n", "", 1)), 0o600))
	w := &world{plane: p, node: daemon.Start(t, rig.Containerd(t), "--kubeconfig", p.kubeconfig(controlplane.Node), "--pod-manifest-path", files,
		"--register-with-taints", "only=tests:NoSchedule", "--provider-id", "cloud://7", "--cloud-provider=external", "--node-status-update-frequency", "1s")}
	w.eventually("a tainted node", func() bool {
		n, ok := get[corev1.Node](w.plane, "/api/v1/nodes/node-a")
		tainted := func(key string) bool {
			return slices.ContainsFunc(n.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == key })
		}
		return ok && tainted("only") && tainted("node.cloudprovider.kubernetes.io/uninitialized") && n.Spec.ProviderID == "cloud://7"
	})
	if n, _ := get[corev1.Node](w.plane, "/api/v1/nodes/node-a"); len(n.Status.Addresses) != 1 || n.Status.Addresses[0].Type != corev1.NodeHostName {
		t.Errorf("the node's addresses are %v, want its name alone until a cloud controller says them", n.Status.Addresses)
	}
	mirror := w.await("static-node-a", "mirrored", ready)
	w.ask("DELETE", podsPath+"/static-node-a?gracePeriodSeconds=0", "", "")
	w.create(podsPath, manifest("steady", sleeper))
	w.create(podsPath, manifest("doomed", sleeper))
	steady := w.await("steady", "ready", ready)
	w.await("doomed", "ready", ready)

	w.node.Kill()
	w.ask("DELETE", podsPath+"/doomed", "", "")
	w.node.Launch()
	w.awaitGone("doomed")

	w.node.Kill()
	w.apiserver.end()
	w.node.Launch()
	w.node.Await("the pod, without an API server", func(p daemon.Pods) bool { return p["steady"].GetReady() })
	w.apiserver.begin()
	w.eventually("an API server again", func() bool { code, _ := w.try("GET", "/readyz", "", nil); return code == 200 })
	w.create(podsPath, manifest("late", sleeper))
	w.await("late", "ready", ready)

	w.await("static-node-a", "mirrored again", func(p *corev1.Pod) bool { return p.UID != mirror.UID && ready(p) })
	after := w.await("steady", "ready", ready)
	if got, want := after.Status.ContainerStatuses[0], steady.Status.ContainerStatuses[0]; got.RestartCount != 0 || got.ContainerID != want.ContainerID {
		t.Errorf("the steady pod's container became %+v", got)
	}

	before, _ := get[corev1.Node](w.plane, "/api/v1/nodes/node-a")
	w.ask("DELETE", "/api/v1/nodes/node-a", "", "")
	w.eventually("another Node object", func() bool {
		n, ok := get[corev1.Node](w.plane, "/api/v1/nodes/node-a")
		return ok && n.UID != before.UID && n.Spec.ProviderID == "cloud://7"
	})
}

// reasons returns the reasons of a pod's events that occurred once, each with the part of the pod
// that it is about.
func (w *world) reasons(pod *corev1.Pod) map[string]string {
	w.t.Helper()
	list, _ := get[corev1.EventList](w.plane, "/api/v1/namespaces/default/events?fieldSelector=involvedObject.uid="+string(pod.UID))
	found, times := map[string]string{}, map[string]int{}
	for _, e := range list.Items {
		found[e.Reason] = e.InvolvedObject.FieldPath
		if times[e.Reason]++; times[e.Reason] > 1 {
			delete(found, e.Reason)
		}
	}
	return found
}

// told returns the messages of a pod's events of one reason.
func (w *world) told(pod *corev1.Pod, reason string) (messages []string) {
	w.t.Helper()
	list, _ := get[corev1.EventList](w.plane, "/api/v1/namespaces/default/events?fieldSelector=reason="+reason+",involvedObject.uid="+string(pod.UID))
	for _, e := range list.Items {
		messages = append(messages, e.Message)
	}
	return messages
}

// inside runs a script in a pod's container, through the node.
func (w *world) inside(name, script string) string {
	w.t.Helper()
	reply, err := nodev1.NewExecServiceClient(w.node.Conn()).Run(w.t.Context(), &nodev1.RunRequest{
		Namespace: "default", Name: name, Container: "main", Command: []string{"sh", "-c", script},
	})
	must(w.t, err)
	return string(reply.GetStdout())
}
