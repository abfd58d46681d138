package cluster

import (
	"net/http"
	"path/filepath"
	"regexp"
	"testing"

	"nodal/test/agent"
	"nodal/test/claim"
	"nodal/test/daemon"
	controlplane "nodal/test/plane"
	"nodal/test/rig"
)

// constant uses a tenth of a processor, and 64 MiB.
const constant = `  containers:
  - {name: busy, image: "nodal.test/busybox:1", command: [sh, -c, "while :; do :; done"], resources: {limits: {cpu: 100m}}}
  - name: full
    image: "nodal.test/busybox:1"
    command: [sh, -c, "dd if=/dev/zero of=/memory/full bs=1M count=64; exec sleep 1000"]
    volumeMounts: [{name: memory, mountPath: /memory}]
  volumes: [{name: memory, emptyDir: {medium: Memory}}]
`

func TestKubectlTopShowsWhatMetricsServerReads(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "In a cluster",
		"metrics-server reads the node over TLS, as its own service account and with the rights of its manifests",
		"kubectl top shows the usage of the node, its pods and their containers",
	)
	p := startPlane(t)
	w := &world{plane: p, node: daemon.Start(t, rig.Containerd(t), "--kubeconfig", p.kubeconfig(controlplane.Node), "--address", "0.0.0.0")}
	w.create(podsPath, manifest("constant", constant))
	w.await("constant", "ready", ready)
	ports, claim, err := agent.ClaimPorts()
	must(t, err)
	t.Cleanup(func() { claim.Close() })
	must(t, p.StartMetrics(t.Context(), ports.Secure, filepath.Join(w.node.Dir, "pki/ca.crt")))

	// The loop may use 100m. A busy machine may leave it half of that; twice as much would mean
	// that it was counted twice.
	w.top("namespaces/default/pods/constant", `^POD +NAME +CPU\(cores\) +MEMORY\(bytes\) *
constant +busy +([5-9]\d|1\d\d)m +[0-7]Mi *
constant +full +\d+m +6[4-9]Mi *
$`, "pod", "--containers")
	w.top("nodes/node-a", `^NAME +CPU\(cores\) +CPU\(%\) +MEMORY\(bytes\) +MEMORY\(%\) *
node-a +[1-9]\d+m +\d{1,3}% +[1-9]\d+Mi +\d{1,3}% *
$`, "node")
}

// top waits until kubectl top shows the wanted line. metrics-server needs two readings of the node
// for that.
func (w *world) top(object, wanted, what string, flags ...string) {
	w.t.Helper()
	shown := regexp.MustCompile(wanted)
	w.eventually("kubectl top "+what, func() bool {
		if code, _ := w.try("GET", "/apis/metrics.k8s.io/v1beta1/"+object, "", nil); code != http.StatusOK {
			return false
		}
		said := w.kubectl(append([]string{"top", what}, flags...)...)
		w.t.Log(said)
		return shown.MatchString(said)
	})
}
