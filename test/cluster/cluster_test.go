package cluster

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
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
	w := &world{plane: p, node: daemon.Start(t, rig.Containerd(t))}
	w.sync = start(t, apisync, "--kubeconfig", p.kubeconfig(controlplane.Node), "--socket", w.node.Socket,
		"--node-labels", "disk=ssd", "--kubelet-port", fmt.Sprint(w.node.Port), "--lease-duration", "8s")
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

// awaitGone takes no silence for an answer: only the API server knows what is gone.
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

// mortal ends as soon as it is told to.
const mortal = "  containers:\n  - {name: main, image: \"nodal.test/busybox:1\", command: [sh, -c, \"until [ -e /die ]; do usleep 50000; done; exit 1\"]}\n"

func TestNodeJoinsAndRunsWhatTheClusterBinds(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "In a cluster",
		"a node registers itself, with its labels, capacity, addresses and conditions, and renews its lease",
		"a pod that is bound to the node runs, and its status is the cluster's",
		"a deleted pod ends within its grace period, and is dropped from the cluster when nothing of it is left",
		"ConfigMaps and Secrets are on the node as long as a pod there uses them, and follow changes",
		"ClusterTrustBundles are on the node as long as a pod there uses them, by name or as all that a signer has, and follow changes",
		"a pod that ends by itself is reported so, and not run again",
		"a pod has its service account's token, and the API server knows the pod by it",
		"what happens to pods are events in the cluster, each once",
	)
	w := newWorld(t)
	w.eventually("a ready node", func() bool {
		n, _ := get[corev1.Node](w.plane, "/api/v1/nodes/node-a")
		for _, c := range n.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
				return len(n.Status.Conditions) == 4 && n.Labels["disk"] == "ssd" && n.Labels[corev1.LabelHostname] == "node-a" && !n.Status.Capacity.Cpu().IsZero() && len(n.Status.Addresses) > 1
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
		"volumeMounts: [{name: settings, mountPath: /settings}, {name: login, mountPath: /login}]}\n"))
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
	w.trusts()

	w.create(podsPath, manifest("job", "  restartPolicy: Never\n  containers:\n  - {name: main, image: \"nodal.test/busybox:1\", command: [sh, -c, \"exit 3\"]}\n"))
	job := w.await("job", "failed", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
	if ended := job.Status.ContainerStatuses[0].State.Terminated; ended == nil || ended.ExitCode != 3 {
		t.Errorf("the job ended as %+v, want code 3", job.Status.ContainerStatuses)
	}

	w.eventually("the pod's events", func() bool { return w.reasons(web)["Started"] == "spec.containers{main}" })
	told := w.reasons(web)
	w.sync.end()
	w.sync.begin() // which reads them all again
	w.ask("DELETE", podsPath+"/web", "", "")
	w.awaitGone("web")
	w.eventually("the event of its end", func() bool { return w.reasons(web)["Killing"] != "" })
	for reason := range told {
		if _, ok := w.reasons(web)[reason]; !ok {
			t.Errorf("of event %s there are two, or none", reason)
		}
	}
	w.ask("DELETE", podsPath+"/job", "", "")
	w.awaitGone("job")
	w.eventually("an empty shelf", func() bool { return w.shelf() == "" })
}

func TestBothSidesMayGoAndComeBack(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "In a cluster",
		"while the API server is away pods run on and are restarted, and statuses arrive when it is back",
		"what was deleted while nobody synced is made good afterwards, and nothing healthy restarts",
		"a pod that is deleted and made again under its name runs anew once the old one is gone",
		"a pod that the node refuses fails with the reason, and is not tried again",
		"a pod that was posted to the node itself shows in the cluster, again when it is deleted there",
		"while the API server has no ClusterTrustBundles a pod waits for those that it needs, and all others run",
	)
	w := newWorld(t, "--runtime-config=certificates.k8s.io/v1beta1=false")
	w.create(podsPath, trusting)
	for _, name := range []string{"steady", "doomed"} {
		w.create(podsPath, manifest(name, sleeper))
	}
	w.create(podsPath, manifest("again", mortal))
	steady, again := w.await("steady", "ready", ready), w.await("again", "ready", ready)
	w.await("doomed", "ready", ready)
	w.await("trusting", "waiting", lacksTrust)

	w.sync.end()
	w.ask("DELETE", podsPath+"/doomed", "", "")
	w.sync.begin()
	w.awaitGone("doomed")

	w.apiserver.end()
	w.inside("again", "touch /die")
	w.node.Await("a restart", func(p daemon.Pods) bool { return p["again"].GetRestarts() == 1 && p["again"].GetReady() })
	w.apiserver.Args = w.apiserver.Args[:len(w.apiserver.Args)-1] // now it has ClusterTrustBundles
	w.apiserver.begin()
	w.await("again", "restarted", func(p *corev1.Pod) bool {
		return len(p.Status.ContainerStatuses) == 1 && p.Status.ContainerStatuses[0].RestartCount == 1 && ready(p)
	})

	w.ask("DELETE", podsPath+"/again?gracePeriodSeconds=0", "", "") // the cluster forgets it at once
	w.create(podsPath, manifest("again", sleeper))
	w.await("again", "anew", func(p *corev1.Pod) bool { return p.UID != again.UID && ready(p) })

	w.create(podsPath, manifest("refused", "  volumes: [{name: v, csi: {driver: csi.example.org}}]\n"+sleeper))
	refused := w.await("refused", "failed", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
	if refused.Status.Reason != "NodeRefused" || !strings.Contains(refused.Status.Message, "csi") {
		t.Errorf("the refused pod says %s: %s", refused.Status.Reason, refused.Status.Message)
	}

	a, b := authorities(t)
	w.entrust("root", a)
	w.entrust("example.com:ca:v1", b)

	_, err := nodev1.NewManifestsServiceClient(w.node.Conn()).Apply(t.Context(), &nodev1.ApplyRequest{Manifest: manifest("own", sleeper)})
	must(t, err)
	mirror := w.await("own", "mirrored", ready)
	w.ask("DELETE", podsPath+"/own?gracePeriodSeconds=0", "", "")
	w.await("own", "mirrored again", func(p *corev1.Pod) bool { return p.UID != mirror.UID && ready(p) })
	w.node.Delete("own")
	w.awaitGone("own")
	w.await("trusting", "ready", ready)

	if p := w.pod("steady"); p == nil || p.Status.ContainerStatuses[0].RestartCount != 0 || p.Status.ContainerStatuses[0].ContainerID != steady.Status.ContainerStatuses[0].ContainerID {
		t.Errorf("the steady pod became %+v", p)
	}
}

func TestTheKubeletIsAMemberByItself(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "In a cluster",
		"a kubelet with --kubeconfig joins by itself, with the taints it was given",
		"killed and started again, it knows its pods, and none of them restarts",
		"away from the API server it starts and runs the pods that it had",
	)
	p := startPlane(t)
	w := &world{plane: p, node: daemon.Start(t, rig.Containerd(t), "--kubeconfig", p.kubeconfig(controlplane.Node),
		"--register-with-taints", "only=tests:NoSchedule", "--node-status-update-frequency", "1s")}
	w.eventually("a tainted node", func() bool {
		n, ok := get[corev1.Node](w.plane, "/api/v1/nodes/node-a")
		return ok && len(n.Spec.Taints) > 0 && n.Spec.Taints[0].Key == "only"
	})
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

	after := w.await("steady", "ready", ready)
	if got, want := after.Status.ContainerStatuses[0], steady.Status.ContainerStatuses[0]; got.RestartCount != 0 || got.ContainerID != want.ContainerID {
		t.Errorf("the steady pod's container became %+v", got)
	}
}

// reasons are the reasons of a pod's events that are there once, with the part of
// the pod that they are about.
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

// inside runs a script in a pod's container, on the node.
func (w *world) inside(name, script string) string {
	w.t.Helper()
	reply, err := nodev1.NewExecServiceClient(w.node.Conn()).Run(w.t.Context(), &nodev1.RunRequest{
		Namespace: "default", Name: name, Container: "main", Command: []string{"sh", "-c", script},
	})
	must(w.t, err)
	return string(reply.GetStdout())
}
