package kubeadm

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nodal/test/agent"
	"nodal/test/claim"
	"nodal/test/machine"
	"nodal/test/pace"
	"nodal/test/rig"
)

func TestMain(m *testing.M) { os.Exit(agent.Main(m)) }

func TestKubeadmMakesAClusterOfTwoNodesAndTakesItAway(t *testing.T) {
	rig.Require(t)
	claim.Shows(t, "In a cluster",
		"kubeadm init makes a control plane of static pods on the built-in runtime, and kubeadm join another node with a token: both are Ready",
		"a pod of a kubeadm cluster reaches one on another node by the address that it has in its node's subnet, and kubectl its logs and commands",
		"kubelet clean and kubeadm reset leave no process, mount, interface, rule of the firewall or cgroup of a node with pods",
	)
	t.Setenv(rig.RunEnv, cmp.Or(os.Getenv(rig.RunEnv), "kubeadm")) // the mark of processes that count as left
	before := rig.Snapshot()
	c := started(t, before)
	first, second := look(t, c.First), look(t, c.Second)
	ctx, cancel := context.WithTimeout(t.Context(), pace.Of(8*time.Minute))
	defer cancel()
	must(t, c.Init(ctx))
	must(t, c.Join(ctx))
	kubectl(ctx, t, c, "wait", "--for=condition=Ready", "nodes", "--all", "--timeout=120s")
	must(t, c.Route(ctx))
	c.reaches(ctx, t)

	must(t, c.Reset(ctx, c.Second)) // with a pod on it
	second.same(t)
	if testing.Short() {
		return
	}
	kubectl(ctx, t, c, "delete", "pod", "server", "--force")
	kubectl(ctx, t, c, "delete", "node", "node-b")
	must(t, c.Join(ctx))
	kubectl(ctx, t, c, "wait", "--for=condition=Ready", "node/node-b", "--timeout=120s")
	for _, b := range []bare{second, first} {
		must(t, c.Reset(ctx, b.Machine))
		b.same(t)
	}
}

// started starts a cluster's machines, and checks at the end that nothing is left of them.
func started(t *testing.T, before rig.Machine) *Cluster {
	t.Helper()
	dir, err := os.MkdirTemp("/var/lib", "nodal-kubeadm-") // not below /tmp, where each machine has its own files
	must(t, err)
	parts, err := filepath.Abs("../../.cache/parts")
	must(t, err)
	leaks := filepath.Join(dir, "leaks")
	if out, err := exec.Command("go", "build", "-o", leaks, "nodal/test/rig/leaks").CombinedOutput(); err != nil {
		t.Fatalf("build the check for leaks: %v\n%s", err, out)
	}
	c, err := Start(t.Context(), Config{Dir: dir, Kubelet: os.Getenv(agent.BinaryEnv), Parts: parts, Programs: map[string]string{"leaks": leaks}})
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.Logs())
		}
		must(t, c.Stop())
		must(t, os.RemoveAll(dir))
		if left := rig.Leaks(before); len(left) > 0 {
			t.Errorf("left behind:\n%s", strings.Join(left, "\n"))
		}
	})
	if err != nil {
		t.Fatalf("%v; test/cluster/parts/build.sh and peer.sh build the programs", err)
	}
	return c
}

const pair = `apiVersion: v1
kind: Pod
metadata: {name: server}
spec:
  nodeName: node-b
  containers:
  - name: main
    image: nodal.test/busybox:1
    command: [sh, -c, "echo serving; hostname >/index.html; exec httpd -f -p 8080 -h /"]
    readinessProbe: {httpGet: {path: /index.html, port: 8080}, periodSeconds: 1}
---
apiVersion: v1
kind: Pod
metadata: {name: client}
spec:
  nodeName: node-a
  containers: [{name: main, image: "nodal.test/busybox:1", command: [sleep, "10000"]}]
`

// reaches has a pod of the first node read from one of the second.
func (c *Cluster) reaches(ctx context.Context, t *testing.T) {
	t.Helper()
	must(t, c.First.Write("/root/pair.yaml", pair, 0o600))
	kubectl(ctx, t, c, "wait", "--for=create", "serviceaccount/default", "--timeout=60s")
	kubectl(ctx, t, c, "apply", "-f", "/root/pair.yaml")
	kubectl(ctx, t, c, "wait", "--for=condition=Ready", "pods", "--all", "--timeout=120s")
	address := kubectl(ctx, t, c, "get", "pod", "server", "-o", "jsonpath={.status.podIP}")
	given := kubectl(ctx, t, c, "get", "node", "node-b", "-o", "jsonpath={.spec.podCIDR}")
	if subnet, _, _ := strings.Cut(given, ".0/24"); !strings.HasPrefix(address, subnet+".") {
		t.Errorf("the pod has address %s, want one of %s", address, given)
	}
	if got := kubectl(ctx, t, c, "exec", "client", "--", "wget", "-q", "-O", "-", "http://"+address+":8080/"); got != "server\n" {
		t.Errorf("the first node's pod reads %q from the second's", got)
	}
	if got := kubectl(ctx, t, c, "logs", "server"); got != "serving\n" {
		t.Errorf("logs says %q", got)
	}
}

// nodeFiles is a command that lists the files of a node.
const nodeFiles = "find /etc/kubernetes /etc/cni /var/lib/kubelet /var/lib/etcd /var/log/pods /var/log/containers /run ! -type d 2>/dev/null | sort"

// bare is a machine as it was before it was a node.
type bare struct {
	*machine.Machine
	files string
}

// look records what there is on a machine.
func look(t *testing.T, m *machine.Machine) bare {
	t.Helper()
	_, err := m.Run(t.Context(), "leaks", "save", "/root/before.json")
	must(t, err)
	files, err := m.Run(t.Context(), "sh", "-c", nodeFiles)
	must(t, err)
	return bare{m, files}
}

// same checks that there is no more on the machine than there was.
func (b bare) same(t *testing.T) {
	t.Helper()
	if _, err := b.Run(t.Context(), "leaks", "check", "/root/before.json"); err != nil {
		t.Error(err)
	}
	files, err := b.Run(t.Context(), "sh", "-c", nodeFiles)
	must(t, err)
	for file := range strings.Lines(files) {
		if !strings.Contains(b.files, file) {
			t.Errorf("on machine %s is left: %s", b.Name, file)
		}
	}
}

// kubectl runs kubectl as the cluster's admin and returns its output. The command must succeed.
func kubectl(ctx context.Context, t *testing.T, c *Cluster, args ...string) string {
	t.Helper()
	cmd := c.Kubectl(ctx, args...)
	var errors strings.Builder
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s%s", strings.Join(args, " "), err, out, errors.String())
	}
	return string(out)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
