package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/test/agent"
	"nodal/test/rig"
)

func TestMain(m *testing.M) { os.Exit(agent.Main(m)) }

// grpcurl returns the path of the program, which is built at first use.
var grpcurl = sync.OnceValues(agent.Grpcurl)

// node is a running kubelet on a runtime of its own.
type node struct {
	*agent.Agent
	t    *testing.T
	rt   *rig.Runtime
	conn *grpc.ClientConn
	pods nodev1.PodsServiceClient
}

// start starts a node; adjust changes its configuration.
func start(t *testing.T, adjust ...func(*agent.Config)) *node {
	t.Helper()
	n := prepare(t, adjust...)
	n.up()
	return n
}

// prepare makes everything of a node except its process. Tests mostly wait, and their nodes share
// nothing, so they run side by side.
func prepare(t *testing.T, adjust ...func(*agent.Config)) *node {
	t.Helper()
	t.Parallel()
	return prepareOn(t, rig.Containerd(t), adjust...)
}

func prepareOn(t *testing.T, rt *rig.Runtime, adjust ...func(*agent.Config)) *node {
	t.Helper()
	ports, claim, err := agent.ClaimPorts()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { claim.Close() })
	ports.ReadOnly = 0
	dir := filepath.Join(rt.Dir, "node")
	config := agent.Config{
		Binary: os.Getenv(agent.BinaryEnv), Dir: dir, Socket: filepath.Join(dir, "node.sock"), Endpoint: rt.Endpoint, CgroupParent: rt.CgroupParent,
		Ports: ports, Settings: map[string]any{"maxPods": 250}, Flags: []string{"--hostname-override", "node-a", "--v", "4"},
	}
	for _, change := range adjust {
		change(&config)
	}
	n := &node{Agent: agent.New(config), t: t, rt: rt}
	n.dial()
	t.Cleanup(func() {
		if err := n.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the agent's log ends with\n%s", n.LogTail())
		}
	})
	return n
}

func (n *node) dial() {
	conn, err := grpc.NewClient("unix://"+n.Socket, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 5 * time.Millisecond, Multiplier: 1, MaxDelay: 20 * time.Millisecond},
			MinConnectTimeout: 10 * time.Second,
		}))
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { conn.Close() })
	n.conn, n.pods = conn, nodev1.NewPodsServiceClient(conn)
}

// up starts the agent, also after an end.
func (n *node) up() {
	n.t.Helper()
	if err := n.Start(); err != nil {
		n.t.Fatal(err)
	}
}

// file writes a file atomically below the rig's directory, and returns its path.
func (n *node) file(name, text string) string {
	n.t.Helper()
	path, scratch := filepath.Join(n.rt.Dir, name), filepath.Join(n.rt.Dir, "scratch")
	err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(scratch, []byte(text), 0o600), os.Rename(scratch, path))
	if err != nil {
		n.t.Fatal(err)
	}
	return path
}

// token returns the token of a role.
func (n *node) token(role string) string {
	n.t.Helper()
	data, err := os.ReadFile(n.Credential(role + ".token"))
	if err != nil {
		n.t.Fatal(err)
	}
	return strings.TrimSpace(string(data))
}

func (n *node) address(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

func (n *node) secure() string { return n.address(n.Ports.Secure) }
