package noderuntime

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/host/podnet"
	"nodal/host/runtime"
	"nodal/test/rig"
)

func TestPodsOutliveAgentAndContainerd(t *testing.T) {
	n := newNode(t)
	first := n.start()
	n.wantEvent(runtime.Started)
	_, container := n.pod("a")
	pid := first.Pid()

	// The agent dies: its lock and its descriptors go, containerd stays.
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := n.start()
	n.wantEvent(runtime.Adopted)
	if got := second.Pid(); got != pid {
		t.Errorf("adopted process %d, want %d", got, pid)
	}
	n.wantRunning(container)

	n.killUnderSupervision(second)
	n.wantRunning(container)

	// Both die.
	pid = second.Pid()
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	kill(t, pid)
	third := n.start()
	n.wantEvent(runtime.Started)
	n.wantRunning(container)

	// A changed configuration restarts containerd and keeps the pods. So does another bundle;
	// bundles of the same programs differ by their index.
	if err := third.Close(); err != nil {
		t.Fatal(err)
	}
	n.config.SandboxImage = n.rig.Image("probe")
	n.config.Index = bytes.Replace(n.config.Index, []byte("{"), []byte(`{"another":true,`), 1)
	fourth := n.start()
	n.wantEvent(runtime.Started)
	if fourth.Pid() == third.Pid() {
		t.Error("a containerd with an old configuration runs on")
	}
	n.wantRunning(container)
	n.killUnderSupervision(fourth) // this also removes bundles that nothing uses
	n.wantRunning(container)
	n.wantExec(container)
	if err := fourth.Stop(t.Context()); err != nil {
		t.Errorf("stop: %v", err)
	}
	if err := fourth.Close(); err != nil {
		t.Fatal(err)
	}
}

// killUnderSupervision kills containerd while its agent supervises it.
func (n *node) killUnderSupervision(r *runtime.Runtime) {
	n.t.Helper()
	ctx, cancel := context.WithCancel(n.t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	kill(n.t, r.Pid())
	n.wantEvent(runtime.Exited)
	n.wantEvent(runtime.Started)
	cancel()
	if err := <-done; err != nil {
		n.t.Errorf("run: %v", err)
	}
}

func kill(t *testing.T, pid int) {
	t.Helper()
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

func TestSecondAgentIsRefused(t *testing.T) {
	n := newNode(t)
	r := n.start()
	defer r.Close()
	_, err := runtime.Start(t.Context(), n.config)
	if err == nil || !strings.Contains(err.Error(), "another process uses it") {
		t.Errorf("got error %v, want that it is in use", err)
	}
	if err := runtime.Clean(t.Context(), n.config); err == nil {
		t.Error("cleaned under a running agent")
	}
}

func TestTwoNodesShareAMachine(t *testing.T) {
	n := newNode(t)
	m := newNodeBeside(t, n.rig)
	a := n.start()
	defer a.Close()
	_, one := n.pod("same") // now the machine has a route to its network
	b := m.start()
	defer b.Close()
	if n.network.Bridge() == m.network.Bridge() || n.network.Subnets()[0].Overlaps(m.network.Subnets()[0]) {
		t.Fatalf("networks %s of %v and %s of %v collide",
			n.network.Bridge(), n.network.Subnets(), m.network.Bridge(), m.network.Subnets())
	}
	_, other := m.pod("same")
	n.wantRunning(one)
	m.wantRunning(other)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	n.clean()
	m.wantRunning(other)
}

func TestHostPorts(t *testing.T) {
	n := newNode(t)
	r := n.start()
	defer r.Close()
	port := freePort(t)
	server, _ := n.pod("server", &runtimeapi.PortMapping{ContainerPort: 8080, HostPort: port})
	client, _ := n.pod("client", &runtimeapi.PortMapping{ContainerPort: 8080, HostPort: freePort(t)})
	for _, host := range []string{"127.0.0.1", hostAddress(t)} {
		if got := get(t, fmt.Sprintf("http://%s:%d/index.html", host, port)); got != "hello" {
			t.Errorf("over %s: got %q", host, got)
		}
	}
	address := fmt.Sprintf("%s:%d", hostAddress(t), port)
	if got := getFrom(t, n.namespace(client), address, "/index.html"); got != "hello" {
		t.Errorf("from another pod: got %q", got)
	}
	if got := getFrom(t, n.namespace(server), address, "/index.html"); got != "hello" {
		t.Errorf("from the pod itself: got %q", got)
	}
	// A kill may truncate the CNI library's record, or come before it is written. The ports are
	// open by then, and cleaning has to find them.
	bridge := n.network.Bridge()
	if err := errors.Join(os.Truncate(record(bridge, server), 20), os.Remove(record(bridge, client))); err != nil {
		t.Fatal(err)
	}
}

func record(bridge, sandbox string) string {
	return fmt.Sprintf("/var/lib/cni/results/%s-%s-eth0", bridge, sandbox)
}

func freePort(t *testing.T) int32 {
	t.Helper()
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return int32(l.Addr().(*net.TCPAddr).Port)
}

func hostAddress(t *testing.T) string {
	t.Helper()
	// Nothing is sent: the kernel only looks up its source address.
	conn, err := net.Dial("udp", "192.0.2.1:9")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.LocalAddr().(*net.UDPAddr).IP.String()
}

// get requests a page until the server listens, which takes a moment after its start.
func get(t *testing.T, url string) string {
	t.Helper()
	reply, err := http.Get(url)
	for deadline := time.Now().Add(30 * time.Second); err != nil && time.Now().Before(deadline); reply, err = http.Get(url) {
		<-time.After(20 * time.Millisecond)
	}
	if err != nil {
		state, _ := exec.Command("sh", "-c", "ip -d addr; ip neigh; bridge fdb; iptables-save").CombinedOutput()
		t.Errorf("get: %v; the machine's network is:\n%s", err, state)
		return ""
	}
	return bodyOf(t, reply)
}

func bodyOf(t *testing.T, reply *http.Response) string {
	t.Helper()
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Errorf("get: %v", err)
	}
	return strings.TrimSpace(string(body))
}

// getFrom requests a page from inside a network namespace.
func getFrom(t *testing.T, namespace, address, path string) string {
	t.Helper()
	var conn net.Conn
	err := inNamespace(namespace, func() (err error) {
		conn, err = net.DialTimeout("tcp", address, 5*time.Second)
		return err
	})
	if err != nil {
		t.Errorf("dial: %v", err)
		return ""
	}
	client := http.Client{Transport: &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) { return conn, nil }, DisableKeepAlives: true,
	}}
	reply, err := client.Get("http://" + address + path)
	if err != nil {
		t.Errorf("get: %v", err)
		return ""
	}
	return bodyOf(t, reply)
}

func TestThisMachineCanRunContainers(t *testing.T) {
	rig.Require(t)
	c := runtime.Config{RootDir: "/var/lib/nodal-runtime-check"}
	c.Network = podnet.New(podnet.Config{Places: podnet.Places(c.Places())})
	for _, f := range runtime.Check(t.Context(), c) {
		if !f.OK {
			t.Errorf("%s: %s (%s)", f.Name, f.Problem, f.Remedy)
		}
	}
	if _, err := os.Stat("/var/lib/nodal-runtime-check"); err == nil {
		t.Error("the check left its directory")
	}
}
