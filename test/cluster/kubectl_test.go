package cluster

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/test/claim"
	"nodal/test/daemon"
	"nodal/test/pace"
	controlplane "nodal/test/plane"
	"nodal/test/rig"
)

// newCluster starts a whole cluster: with scheduler and controllers, and a kubelet that joins with
// upstream's flags.
func newCluster(t *testing.T) *world {
	t.Helper()
	p := startPlane(t)
	must(t, p.StartControllers())
	w := &world{plane: p, node: daemon.Start(t, rig.Containerd(t), "--kubeconfig", p.kubeconfig(controlplane.Node),
		"--client-ca-file", p.ClientCA(), "--address", "0.0.0.0",
		"--eviction-hard", "nodefs.available<1%")} // a node with disk pressure gets no pods
	w.kubectl("wait", "--for=create", "node/node-a", "--timeout=60s")
	w.kubectl("wait", "--for=condition=Ready", "node/node-a", "--timeout=60s")
	return w
}

// kubectl runs kubectl as the cluster's admin and returns its output. The command must succeed.
func (w *world) kubectl(args ...string) string {
	w.t.Helper()
	return w.kubectlOn("", args...)
}

func (w *world) kubectlOn(stdin string, args ...string) string {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), pace.Of(2*patience))
	defer cancel()
	cmd := w.command(ctx, args...)
	cmd.Stdin = strings.NewReader(stdin)
	began := time.Now()
	out, err := cmd.Output()
	w.t.Logf("kubectl %s: %s", strings.Join(args, " "), time.Since(began))
	if err != nil {
		w.t.Fatalf("kubectl %s: %v\n%s%s\n%s", strings.Join(args, " "), err, out, cmd.Stderr, w.situation())
	}
	return string(out)
}

func (w *world) command(ctx context.Context, args ...string) *exec.Cmd {
	w.t.Helper()
	cmd, err := w.Kubectl(ctx, args...)
	must(w.t, err)
	cmd.Stderr = &strings.Builder{}
	return cmd
}

// situation returns what an administrator would look at first.
func (w *world) situation() string {
	cmd := w.command(context.Background(), "get", "nodes,pods,events,pvc", "-A", "-o", "wide")
	out, err := cmd.Output()
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// fill returns a file of testdata with the values of this run filled in.
func (w *world) fill(name string, values ...string) string {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	must(w.t, err)
	path := w.File(name)
	must(w.t, os.WriteFile(path, []byte(strings.NewReplacer(values...).Replace(string(text))), 0o600))
	return path
}

func TestWorkloadsGoUpRollAndGoDownByKubectl(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "In a cluster",
		"a Deployment, a DaemonSet, a Job and a StatefulSet go up, roll and go down through kubectl, with scheduler and controllers",
		"containers have variables for Services; with enableServiceLinks false only those of the API server",
		"a claim that the cluster has bound to a volume of this node is the pod's volume, and its files outlive the pod",
		"a pod runs with the cluster's RuntimeClass",
		"kubectl logs, exec, attach, cp, port-forward and debug work through the API server",
		"an API server passes WebSockets of exec, attach and port-forward on to the node untranslated",
		"the node API is reachable through the API server's proxy, with the cluster's permission",
		"a volume's node affinity may name a label that the node has only in the cluster",
		"when the last pod is gone no object of the cluster is left on the node",
	)
	w := newCluster(t)
	disk := t.TempDir()
	file := w.fill("journey.yaml", "@DISK@", disk)
	w.kubectl("label", "node", "node-a", "rack=r1") // the volume selects the node by this label
	w.kubectl("apply", "-f", file)
	for _, what := range []string{"deployment/web", "daemonset/agent", "statefulset/db"} {
		w.kubectl("rollout", "status", what, "--timeout=60s")
	}
	w.kubectl("wait", "--for=condition=Complete", "job/once", "--timeout=60s")

	w.environments()
	w.streams()
	w.untranslated()
	if got := strings.TrimSpace(w.kubectl("logs", "job/once")); got != "default" {
		t.Errorf("the job read %q as its namespace", got)
	}
	if got := w.kubectl("get", "--raw", "/api/v1/nodes/node-a/proxy/v1/pods"); !strings.Contains(got, `"name":"db-0"`) {
		t.Errorf("the node API through the proxy says %s", got)
	}

	w.kubectl("set", "env", "deployment/web", "VERSION=2")
	w.kubectl("rollout", "status", "deployment/web", "--timeout=60s")
	// The old pod has a second to end, and may disappear between list and logs.
	w.eventually("the new version alone", func() bool {
		out, err := w.command(t.Context(), "logs", "-l", "app=web", "--tail=-1").Output()
		return err == nil && string(out) == "serving 2\nserving 2\n"
	})
	w.kubectl("scale", "deployment/web", "--replicas=3")
	w.kubectl("rollout", "status", "deployment/web", "--timeout=60s")
	w.kubectl("rollout", "restart", "statefulset/db", "daemonset/agent")
	w.kubectl("rollout", "status", "statefulset/db", "--timeout=60s")
	w.kubectl("rollout", "status", "daemonset/agent", "--timeout=60s")
	// A container may run before it has written.
	w.eventually("one line of each of two pods in the volume", func() bool {
		got, err := os.ReadFile(filepath.Join(disk, "starts"))
		return err == nil && string(got) == "db-0\ndb-0\n"
	})

	w.kubectl("delete", "-f", file, "--wait=false") // the volume stays as long as its claim does
	w.kubectl("delete", "pvc", "--all", "--timeout=60s")
	w.kubectl("wait", "--for=delete", "pv/disk", "--timeout=60s")
	w.kubectl("wait", "--for=delete", "pods", "--all", "--timeout=60s")
	w.node.Await("no pod", func(p daemon.Pods) bool { return len(p) == 0 })
	w.eventually("an empty shelf", func() bool { return w.shelf() == "" })
	if _, err := os.Stat(filepath.Join(disk, "starts")); err != nil {
		t.Errorf("what the volume held is gone: %v", err)
	}
}

// environments checks the environments of containers.
func (w *world) environments() {
	w.t.Helper()
	address := w.kubectl("get", "service", "my-db", "-o", "jsonpath={.spec.clusterIP}")
	web := w.kubectl("exec", "deployment/web", "--", "env")
	for _, want := range []string{"PASSWORD=tr0ub4dor", "DATABASE=" + address, "MY_DB_SERVICE_PORT_SQL=5432", "MY_DB_PORT_5432_TCP_ADDR=" + address, "KUBERNETES_SERVICE_HOST=10.96.0.1"} {
		if !strings.Contains(web, want+"\n") {
			w.t.Errorf("web's environment lacks %s:\n%s", want, web)
		}
	}
	agent := w.kubectl("exec", "daemonset/agent", "--", "env")
	if strings.Contains(agent, "MY_DB_") || !strings.Contains(agent, "KUBERNETES_SERVICE_PORT=443\n") {
		w.t.Errorf("agent, which wants no services, has\n%s", agent)
	}
}

// streams runs every streaming command of kubectl on one container.
func (w *world) streams() {
	w.t.Helper()
	web := w.kubectl("get", "pods", "-l", "app=web", "-o", "jsonpath={.items[0].metadata.name}")
	agent := w.kubectl("get", "pods", "-l", "app=agent", "-o", "jsonpath={.items[0].metadata.name}")
	if got := w.kubectl("logs", web); got != "serving 1\n" {
		w.t.Errorf("logs says %q", got)
	}
	if got := w.kubectlOn("one\ntwo\n", "exec", "-i", web, "--", "wc", "-l"); strings.TrimSpace(got) != "2" {
		w.t.Errorf("exec -i wc -l of two lines says %q", got)
	}
	if err := w.command(w.t.Context(), "exec", web, "--", "sh", "-c", "exit 7").Run(); err == nil || err.(*exec.ExitError).ExitCode() != 7 {
		w.t.Errorf("a command that ended with 7 is %v", err)
	}
	attached(w.t, w.command, agent)

	there, back := w.File("there"), w.File("back")
	must(w.t, os.WriteFile(there, []byte(strings.Repeat("x", 1<<20)), 0o600))
	w.kubectl("cp", there, web+":/tmp-file")
	w.kubectl("cp", web+":/tmp-file", back)
	if got, err := os.ReadFile(back); err != nil || len(got) != 1<<20 {
		w.t.Errorf("cp there and back leaves %d bytes, %v", len(got), err)
	}
	forwarded(w.t, w.command, web)

	w.kubectl("debug", web, "--image=nodal.test/busybox:1", "--container=look", "--target=main", "--attach=false", "--", "sh", "-c", "echo looked; pidof httpd")
	w.eventually("the debug container's word", func() bool {
		out, err := w.command(w.t.Context(), "logs", web, "-c", "look").Output()
		return err == nil && regexp.MustCompile(`^looked\n\d+\n$`).Match(out)
	})
}

// untranslated checks that the API server has passed the WebSockets of kubectl on to the node, which declares that it
// speaks their protocols.
func (w *world) untranslated() {
	w.t.Helper()
	if w.minor < 36 {
		return // API servers of these versions translate them all
	}
	counted := w.kubectl("get", "--raw", "/metrics")
	for _, way := range []string{"exec", "attach", "portforward"} {
		if !strings.Contains(counted, `apiserver_websocket_streaming_requests_total{proxy_type="proxied_to_kubelet",subresource="`+way+`"}`) {
			w.t.Errorf("no WebSocket of %s reached the node", way)
		}
	}
	if strings.Contains(counted, `proxy_type="translated_at_apiserver"`) {
		w.t.Error("the API server has translated WebSockets")
	}
}

// attached exchanges text with a container that echoes its input.
func attached(t *testing.T, kubectl func(context.Context, ...string) *exec.Cmd, name string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := kubectl(ctx, "attach", "-i", name, "-c", "main")
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	_, err = io.WriteString(in, "hello\n")
	must(t, err)
	if got, err := bufio.NewReader(out).ReadString('\n'); got != "hello\n" {
		t.Errorf("attach answers %q, %v", got, err)
	}
	cancel()
	cmd.Wait() // it was killed
}

// forwarded reads from a container's server through a forwarded port of this machine.
func forwarded(t *testing.T, kubectl func(context.Context, ...string) *exec.Cmd, name string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := kubectl(ctx, "port-forward", name, ":8080")
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	must(t, err)
	found := regexp.MustCompile(`127\.0\.0\.1:(\d+)`).FindStringSubmatch(line)
	if found == nil {
		t.Fatalf("port-forward says %q", line)
	}
	for range 2 { // each over a connection of its own
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // no proxy, no shared connection
		answer, err := client.Get("http://127.0.0.1:" + found[1] + "/index.html")
		must(t, err)
		text, err := io.ReadAll(answer.Body)
		must(t, err)
		answer.Body.Close()
		if string(text) != "fast" {
			t.Errorf("through port-forward it serves %q", text)
		}
	}
	cancel()
	cmd.Wait() // it was killed
}

// shelf returns the names of the objects that the node holds for pods.
func (w *world) shelf() string {
	w.t.Helper()
	ctx, conn := w.t.Context(), w.node.Conn()
	maps, err := nodev1.NewConfigMapsServiceClient(conn).ListConfigMaps(ctx, &nodev1.ListConfigMapsRequest{})
	must(w.t, err)
	secrets, err := nodev1.NewSecretsServiceClient(conn).ListSecrets(ctx, &nodev1.ListSecretsRequest{})
	must(w.t, err)
	classes, err := nodev1.NewRuntimeClassesServiceClient(conn).ListRuntimeClasses(ctx, &nodev1.ListRuntimeClassesRequest{})
	must(w.t, err)
	bundles, err := nodev1.NewClusterTrustBundlesServiceClient(conn).ListClusterTrustBundles(ctx, &nodev1.ListClusterTrustBundlesRequest{})
	must(w.t, err)
	claims, err := nodev1.NewPersistentVolumeClaimsServiceClient(conn).ListPersistentVolumeClaims(ctx, &nodev1.ListPersistentVolumeClaimsRequest{})
	must(w.t, err)
	volumes, err := nodev1.NewPersistentVolumesServiceClient(conn).ListPersistentVolumes(ctx, &nodev1.ListPersistentVolumesRequest{})
	must(w.t, err)
	var names []string
	for _, o := range maps.GetConfigMaps() {
		names = append(names, "ConfigMap "+o.GetName())
	}
	for _, o := range secrets.GetSecrets() {
		names = append(names, "Secret "+o.GetName())
	}
	for _, o := range classes.GetRuntimeClasses() {
		names = append(names, "RuntimeClass "+o.GetName())
	}
	for _, o := range bundles.GetClusterTrustBundles() {
		names = append(names, "ClusterTrustBundle "+o.GetName())
	}
	for _, o := range claims.GetPersistentVolumeClaims() {
		names = append(names, "PersistentVolumeClaim "+o.GetName())
	}
	for _, o := range volumes.GetPersistentVolumes() {
		names = append(names, "PersistentVolume "+o.GetName())
	}
	return strings.Join(names, ", ")
}
