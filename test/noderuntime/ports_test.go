package noderuntime

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/nftables"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/host/podnet"
	"nodal/host/runtime"
	"nodal/test/rig"
)

func TestHostPortsThatAReloadOfTheFirewallClosedAreOpenAgain(t *testing.T) {
	if os.Getenv(rig.BundleEnv) == "" {
		t.Skip("the plugins of the host cannot be trusted with that: the run with the bundle shows it")
	}
	n := newNode(t)
	r := n.start()
	n.wantEvent(runtime.Started)
	port := freePort(t)
	server, _ := n.pod("server", &runtimeapi.PortMapping{ContainerPort: 8080, HostPort: port})
	if got := get(t, fmt.Sprintf("http://127.0.0.1:%d/index.html", port)); got != "hello" {
		t.Errorf("got %q", got)
	}
	n.killUnderSupervision(r) // the check after it changes nothing: open ports are left alone
	if err := errors.Join(r.Close(), n.flush(n.network.Bridge(), server)); err != nil {
		t.Fatal(err)
	}
	for tries := 1; open(port); tries++ { // the plugin skips records that it cannot read for a moment
		if tries > 5 {
			t.Fatal("the port is open though its rules are gone")
		}
		if err := n.closePorts(n.network.Bridge(), server); err != nil {
			t.Fatal(err)
		}
	}

	next := n.start()
	defer next.Close()
	n.wantEvent(runtime.Adopted)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- next.Run(ctx) }()
	n.wantEvent(podnet.Repaired)
	if !open(port) {
		t.Error("the port is still closed")
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("run: %v", err)
	}
}

// flush removes the node's rules as a firewall reload with "flush ruleset" does, and keeps everyone
// else's.
func (n *node) flush(network, sandbox string) error {
	conn, err := nftables.New()
	if err != nil {
		return err
	}
	conn.DelTable(&nftables.Table{Name: "nodal-" + runtime.ID(n.config.RootDir), Family: nftables.TableFamilyINet})
	return errors.Join(conn.Flush(), n.closePorts(network, sandbox))
}

// closePorts makes the plugin close the host ports of a pod, with the configuration that opened
// them.
func (n *node) closePorts(network, sandbox string) error {
	return n.portmap("DEL", network, sandbox, `"runtimeConfig": {"portMappings": [{"hostPort": 1, "containerPort": 1, "protocol": "tcp"}]}`)
}

// portmap runs the plugin for a sandbox, with more of its configuration.
func (n *node) portmap(command, network, sandbox, config string) error {
	plugin := n.plugin("portmap")
	conflist, err := os.ReadFile(n.config.Places().Conflist)
	if err != nil {
		return err
	}
	backend := regexp.MustCompile(`"backend": "\w+"`).Find(conflist)
	cmd := exec.Command(plugin)
	cmd.Stdin = strings.NewReader(fmt.Sprintf(`{"cniVersion": "1.0.0", "name": %q, "type": "portmap", "snat": true, %s, %s}`, network, backend, config))
	cmd.Env = append(os.Environ(), "CNI_COMMAND="+command, "CNI_CONTAINERID="+sandbox, "CNI_IFNAME=eth0", "CNI_NETNS=/none", "CNI_PATH="+filepath.Dir(plugin))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", command, err, out)
	}
	return nil
}

// plugin finds one of the node's CNI plugins.
func (n *node) plugin(name string) string {
	n.t.Helper()
	for _, pattern := range n.config.Places().Plugins {
		if found, _ := filepath.Glob(filepath.Join(pattern, name)); len(found) > 0 {
			return found[0]
		}
	}
	n.t.Fatalf("there is no plugin %s", name)
	return ""
}

// A kill of the agent or of containerd while pods are torn down leaves such rules. They stand before those of later pods.
func TestHostPortsOfPodsThatAreGoneAreTakenFromThem(t *testing.T) {
	n := newNode(t)
	r := n.start()
	n.wantEvent(runtime.Started)
	port := freePort(t)
	dead := strings.Repeat("dead", 16)
	must(t, n.openOf(dead, port))
	server, _ := n.pod("server", &runtimeapi.PortMapping{ContainerPort: 8080, HostPort: port})
	get(t, "http://"+n.address(server)+":8080/index.html") // it listens
	if open(port) {
		t.Fatal("the port of the pod is open, though a rule before its own leads to nobody")
	}
	must(t, r.Close())

	next := n.start()
	defer next.Close() // for a test that fails before it closes it
	n.wantEvent(runtime.Adopted)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- next.Run(ctx) }()
	if e := n.wantEvent(podnet.Repaired); e.Key.Name != "" {
		t.Errorf("got event %+v, want that of the node first", e)
	}
	e := n.wantEvent(podnet.Repaired)
	if e.Key.String() != "default/server" || e.UID != "server" || !strings.Contains(e.Message, fmt.Sprintf("%d/tcp", port)) {
		t.Errorf("got event %+v, want one of the pod, with its port", e)
	}
	if !open(port) {
		t.Error("the port is still closed")
	}
	if err := n.check(dead, port); err == nil {
		t.Error("the rules of the dead pod are still there")
	}
	cancel()
	must(t, <-done)
	must(t, errors.Join(next.Close(), n.openOf(dead, port))) // cleaning takes it, or the test fails for what is left
}

// deadAddress is one of the node's network that no pod has.
func (n *node) deadAddress() string {
	address := n.network.Subnets()[0].Masked().Addr().As4()
	address[3] = 250
	return netip.AddrFrom4(address).String()
}

// openOf opens a port to a pod that does not exist.
func (n *node) openOf(sandbox string, port int32) error {
	return n.portmap("ADD", n.network.Bridge(), sandbox, n.mapping(port))
}

// check fails unless the port of such a pod is open.
func (n *node) check(sandbox string, port int32) error {
	return n.portmap("CHECK", n.network.Bridge(), sandbox, n.mapping(port))
}

func (n *node) mapping(port int32) string {
	return fmt.Sprintf(`"runtimeConfig": {"portMappings": [{"hostPort": %d, "containerPort": 8080, "protocol": "tcp"}]},
		"prevResult": {"cniVersion": "1.0.0", "interfaces": [{"name": "eth0", "sandbox": "/none"}], "ips": [{"address": "%s/24", "interface": 0}]}`,
		port, n.deadAddress())
}

// address is that of a pod.
func (n *node) address(sandbox string) string {
	n.t.Helper()
	reply, err := n.cri.PodSandboxStatus(n.t.Context(), &runtimeapi.PodSandboxStatusRequest{PodSandboxId: sandbox})
	must(n.t, err)
	return reply.GetStatus().GetNetwork().GetIp()
}

func open(port int32) bool {
	conn, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), 2*time.Second)
	return err == nil && conn.Close() == nil
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
