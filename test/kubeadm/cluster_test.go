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
		"kubeadm's kube-proxy and CoreDNS run, and lead a pod to a Service on another node by its name",
		"kubeadm init and join take Debian's containerd too, which gives pods addresses of the subnet that the kubelet has told it",
	)
	t.Setenv(rig.RunEnv, cmp.Or(os.Getenv(rig.RunEnv), "kubeadm")) // the mark of processes that count as left
	before := rig.Snapshot()
	c := started(t, before)
	first, second := look(t, c.First), look(t, c.Second)
	second.wouldTell(t)
	ctx, cancel := context.WithTimeout(t.Context(), pace.Of(8*time.Minute))
	defer cancel()
	must(t, c.Init(ctx))
	must(t, c.Join(ctx))
	kubectl(ctx, t, c, "wait", "--for=condition=Ready", "nodes", "--all", "--timeout=120s")
	must(t, c.Route(ctx))
	c.reaches(ctx, t)

	c.serves(ctx, t)
	must(t, c.Reset(ctx, c.Second)) // with a pod on it
	second.same(t)
	if testing.Short() {
		return
	}
	kubectl(ctx, t, c, "delete", "pods", "--all", "--force")
	kubectl(ctx, t, c, "delete", "node", "node-b")
	must(t, c.JoinForeign(ctx))
	kubectl(ctx, t, c, "wait", "--for=condition=Ready", "node/node-b", "--timeout=120s")
	must(t, c.Route(ctx))
	c.reaches(ctx, t)
	must(t, c.Reset(ctx, c.Second))
	must(t, c.EndForeign(ctx, c.Second))
	second.same(t)
	must(t, c.Reset(ctx, c.First))
	first.same(t)

	must(t, c.InitForeign(ctx))
	kubectl(ctx, t, c, "wait", "--for=condition=Ready", "node/node-a", "--timeout=120s")
	kubectl(ctx, t, c, "-n", "kube-system", "rollout", "status", "deployment/"+dns, "--timeout=180s")
	must(t, c.Reset(ctx, c.First))
	must(t, c.EndForeign(ctx, c.First))
	first.same(t)
}

// started starts a cluster's machines, and checks at the end that nothing is left of them.
func started(t *testing.T, before rig.Machine) *Cluster {
	t.Helper()
	dir, err := os.MkdirTemp("/var/lib", "nodal-kubeadm-") // not below /tmp, where each machine has its own files
	must(t, err)
	parts, err := filepath.Abs(filepath.Join("../../.cache/parts", os.Getenv("NODAL_PLANE"))) // as in test/cluster
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
		t.Fatalf("%v; test/cluster/parts/build.sh, peer.sh and addons.sh build the programs", err)
	}
	return c
}

const pair = `apiVersion: v1
kind: Pod
metadata: {name: server, labels: {app: server}}
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

const service = `apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: server}, ports: [{port: 80, targetPort: 8080}]}
`

// serves has the first node's pod read from a Service by its name: its endpoint is on the second node.
func (c *Cluster) serves(ctx context.Context, t *testing.T) {
	t.Helper()
	must(t, c.First.Write("/root/service.yaml", service, 0o600))
	kubectl(ctx, t, c, "apply", "-f", "/root/service.yaml")
	for _, addon := range []string{"daemonset/kube-proxy", "deployment/coredns"} {
		kubectl(ctx, t, c, "-n", "kube-system", "rollout", "status", addon, "--timeout=180s")
	}
	for { // until the proxy knows of the endpoint
		out, err := c.Kubectl(ctx, "exec", "client", "--", "timeout", "10", "wget", "-q", "-O", "-", "http://web/").CombinedOutput()
		if err == nil && string(out) == "server\n" {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("the first node's pod reads %q from the Service: %v", out, err)
		}
	}
}

// nodeFiles is a command that lists the files of a node. The lock is a hostPath of kube-proxy's, which outlives any pod.
const nodeFiles = "find /etc/kubernetes /etc/cni /var/lib/kubelet /var/lib/etcd /var/log/pods /var/log/containers /run ! -type d ! -path /run/xtables.lock 2>/dev/null | sort"

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
	for _, file := range b.more(files) {
		t.Errorf("on machine %s is left: %s", b.Name, file)
	}
}

// more returns those of some files that were not there.
func (b bare) more(files string) (more []string) {
	for file := range strings.Lines(files) {
		if !strings.Contains(b.files, file) {
			more = append(more, strings.TrimSpace(file))
		}
	}
	return more
}

// wouldTell checks that the look at a machine would tell of what a node leaves there, and takes that away again.
func (b bare) wouldTell(t *testing.T) {
	t.Helper()
	const leave = `sleep 1000 >/dev/null 2>&1 & echo $! >/run/left
mkdir -p /var/lib/kubelet/left && mount -t tmpfs left /var/lib/kubelet/left && ip link add left0 type bridge
mkdir -p /run/netns && touch /run/netns/left
iptables -t nat -N CNI-DN-left
for each in $(awk '$3 ~ /^cgroup/ && $2 ~ /^\/sys\/fs\/cgroup/ {print $2}' /proc/self/mounts); do mkdir $each/kubepods-left; done`
	const remove = `kill $(cat /run/left); umount /var/lib/kubelet/left && rmdir /var/lib/kubelet/left && ip link delete left0
iptables -t nat -X CNI-DN-left
rmdir $(awk '$3 ~ /^cgroup/ && $2 ~ /^\/sys\/fs\/cgroup/ {print $2 "/kubepods-left"}' /proc/self/mounts)
rm /run/left /run/netns/left`
	_, err := b.Run(t.Context(), "sh", "-ec", leave)
	must(t, err)
	left, err := b.Run(t.Context(), "leaks", "list", "/root/before.json")
	must(t, err)
	files, err := b.Run(t.Context(), "sh", "-c", nodeFiles)
	must(t, err)
	left += strings.Join(b.more(files), "\n")
	for _, want := range []string{
		"(sleep 1000)", "mount /var/lib/kubelet/left", "network interface left0", "network namespace /run/netns/left",
		"port mapping CNI-DN-left", "kubepods-left", "/run/left",
	} {
		if !strings.Contains(left, want) {
			t.Errorf("%s is left, and not found: %s", want, left)
		}
	}
	_, err = b.Run(t.Context(), "sh", "-ec", remove)
	must(t, err)
	b.same(t)
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
