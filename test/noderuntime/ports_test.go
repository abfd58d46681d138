package noderuntime

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

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
	open := func() bool {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		return err == nil && conn.Close() == nil
	}
	if err := errors.Join(r.Close(), n.flush(n.network.Bridge(), server)); err != nil {
		t.Fatal(err)
	}
	for tries := 1; open(); tries++ { // the plugin skips records that it cannot read for a moment
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
	if !open() {
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
	found, err := filepath.Glob(filepath.Join(n.config.RootDir, "runtime/bundles/*/cni/portmap"))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("found plugins %q (%w), want one", found, err)
	}
	plugin := found[0]
	conflist, err := os.ReadFile(n.config.Places().Conflist)
	if err != nil {
		return err
	}
	backend := regexp.MustCompile(`"backend": "\w+"`).Find(conflist)
	cmd := exec.Command(plugin)
	cmd.Stdin = strings.NewReader(fmt.Sprintf(`{"cniVersion": "1.0.0", "name": %q, "type": "portmap", %s,
		"runtimeConfig": {"portMappings": [{"hostPort": 1, "containerPort": 1, "protocol": "tcp"}]}}`, network, backend))
	cmd.Env = append(os.Environ(), "CNI_COMMAND=DEL", "CNI_CONTAINERID="+sandbox, "CNI_IFNAME=eth0", "CNI_PATH="+filepath.Dir(plugin))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("close the ports: %w: %s", err, out)
	}
	return nil
}
