package cluster

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/test/claim"
	"nodal/test/daemon"
	controlplane "nodal/test/plane"
)

func TestOutagesOnEitherSideAreMadeGood(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "In a cluster",
		"while the API server is away pods run on and are restarted, and statuses arrive when it is back",
		"deletions without a running apisync are made good afterwards, and no healthy container restarts",
		"a pod that is deleted and created again under its name runs once the old one is gone",
		"a pod that the node refuses fails with the reason, and is not tried again, not even by a new process",
		"of two pods with one host port the second fails",
		"while the API server answers 429 and 500 pods run on, and everything is made good when it recovers, even if watches cannot resume",
		"connections to the API server that fall silent are given up",
		"apisync does not trust an API server with another authority, and says so",
		"apisync reaches a remote node over TLS, with the certificate of an admin",
		"a pod that was posted to the node itself shows in the cluster, again when it is deleted there",
		"while the API server does not serve ClusterTrustBundles, pods that need them wait, and all others run",
	)
	p := startPlane(t, "--runtime-config=certificates.k8s.io/v1beta1=false")
	x := p.startProxy()
	w := p.join(x.way(controlplane.Node))
	w.create(podsPath, trusting)
	for _, name := range []string{"oversized", "port-a", "port-b"} {
		w.create(podsPath, manifest(name, demanding[name]))
	}
	for _, name := range []string{"steady", "doomed"} {
		w.create(podsPath, manifest(name, sleeper))
	}
	w.create(podsPath, manifest("again", mortal))
	steady, again := w.await("steady", "ready", ready), w.await("again", "ready", ready)
	w.await("doomed", "ready", ready)
	w.await("trusting", "waiting", lacksTrust)
	oversized := w.await("oversized", "failed", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
	taken := w.takenAt("oversized")
	if oversized.Status.Reason != "OutOfcpu" || taken == "" {
		t.Errorf("the pod that is too large says %s, and the node took it in at %q", oversized.Status.Reason, taken)
	}
	w.eventually("one of the ports' pods, and not the other", func() bool {
		a, b := w.pod("port-a"), w.pod("port-b")
		return a != nil && b != nil && (ready(a) && b.Status.Reason == "NodePorts" || ready(b) && a.Status.Reason == "NodePorts")
	})

	w.sync.end()
	w.ask("DELETE", podsPath+"/doomed", "", "")
	w.distrusts()
	w.elsewhere()
	w.sync.begin()
	w.awaitGone("doomed")

	x.fallSilent()
	w.create(podsPath, manifest("unheard", mortal))
	w.await("unheard", "ready", ready)
	x.fallIll()
	w.inside("unheard", "touch /die")
	w.node.Await("a restart", func(p daemon.Pods) bool { return p["unheard"].GetRestarts() == 1 && p["unheard"].GetReady() })
	x.recover()
	restarted := func(p *corev1.Pod) bool {
		return len(p.Status.ContainerStatuses) == 1 && p.Status.ContainerStatuses[0].RestartCount == 1 && ready(p)
	}
	w.await("unheard", "restarted", restarted)

	w.apiserver.end()
	w.inside("again", "touch /die")
	w.node.Await("a restart", func(p daemon.Pods) bool { return p["again"].GetRestarts() == 1 && p["again"].GetReady() })
	w.apiserver.Args = w.apiserver.Args[:len(w.apiserver.Args)-1] // now the API server has ClusterTrustBundles
	w.apiserver.begin()
	w.await("again", "restarted", restarted)

	w.ask("DELETE", podsPath+"/again?gracePeriodSeconds=0", "", "") // the cluster removes it at once
	w.create(podsPath, manifest("again", sleeper))
	w.await("again", "again", func(p *corev1.Pod) bool { return p.UID != again.UID && ready(p) })

	w.create(podsPath, manifest("refused", "  volumes: [{name: v, iscsi: {targetPortal: \"10.0.0.1\", iqn: \"iqn.2001-04.com.example:disk\", lun: 0}}]\n"+sleeper))
	refused := w.await("refused", "failed", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
	if refused.Status.Reason != "NodeRefused" || !strings.Contains(refused.Status.Message, "iscsi") {
		t.Errorf("the refused pod says %s: %s", refused.Status.Reason, refused.Status.Message)
	}

	a, b := authorities(t)
	w.entrust("root", a)
	w.entrust("example.com:ca:v1", b)

	w.post(manifest("own", sleeper))
	mirror := w.await("own", "mirrored", ready)
	w.ask("DELETE", podsPath+"/own?gracePeriodSeconds=0", "", "")
	w.await("own", "mirrored again", func(p *corev1.Pod) bool { return p.UID != mirror.UID && ready(p) })
	w.node.Delete("own")
	w.awaitGone("own")
	w.await("trusting", "ready", ready)

	if p := w.pod("steady"); p == nil || p.Status.ContainerStatuses[0].RestartCount != 0 || p.Status.ContainerStatuses[0].ContainerID != steady.Status.ContainerStatuses[0].ContainerID {
		t.Errorf("the steady pod became %+v", p)
	}
	if again := w.takenAt("oversized"); again != taken {
		t.Errorf("the pod that is too large was given to the node again at %s, after %s", again, taken)
	}
}

// demanding lists resources that the node lacks, or has only once.
var demanding = map[string]string{
	"oversized": strings.Replace(sleeper, "}\n", ", resources: {requests: {cpu: 1000}}}\n", 1),
	"port-a":    strings.Replace(sleeper, "}\n", ", ports: [{containerPort: 80, hostPort: 31999}]}\n", 1),
	"port-b":    strings.Replace(sleeper, "}\n", ", ports: [{containerPort: 80, hostPort: 31999}]}\n", 1),
}

// takenAt returns when the node accepted a pod.
func (w *world) takenAt(name string) string {
	w.t.Helper()
	reply, err := nodev1.NewPodsServiceClient(w.node.Conn()).GetPod(w.t.Context(), &nodev1.GetPodRequest{Namespace: "default", Name: name})
	must(w.t, err)
	return reply.GetPod().GetObject().GetFields()["metadata"].GetStructValue().GetFields()["creationTimestamp"].GetStringValue()
}
