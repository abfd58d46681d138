package daemon

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/test/agent"
	"nodal/test/rig"
)

// Patience bounds every wait: long enough for a slow machine, short enough to
// see what hangs.
const Patience = 60 * time.Second

// Daemon is one kubelet and a client of its node API.
type Daemon struct {
	Dir    string // the root directory
	Socket string
	Port   int // TLS

	t     testing.TB
	agent *agent.Agent
	conn  *grpc.ClientConn
}

// Start runs a kubelet on the runtime until the test ends.
func Start(t testing.TB, rt *rig.Runtime, flags ...string) *Daemon {
	t.Helper()
	binary, err := agent.Build(t.TempDir())
	must(t, err)
	ports, claim, err := agent.ClaimPorts()
	must(t, err)
	t.Cleanup(func() { claim.Close() })
	ports.ReadOnly = 0
	dir := filepath.Join(rt.Dir, "node")
	a := agent.New(agent.Config{
		Binary: binary, Dir: dir, Socket: filepath.Join(dir, "node.sock"), Endpoint: rt.Endpoint, CgroupParent: rt.CgroupParent,
		Ports: ports, Flags: append([]string{"--hostname-override", "node-a", "--v", "4"}, flags...),
	})
	d := &Daemon{Dir: a.Root(), Socket: a.Socket, Port: ports.Secure, t: t, agent: a, conn: dial(t, a.Socket)}
	t.Cleanup(d.end)
	must(t, a.Start())
	return d
}

// dial connects with the rights of root, and again whenever the process is
// started again.
func dial(t testing.TB, socket string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.WaitForReady(true)),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 10 * time.Millisecond, Multiplier: 1.5, MaxDelay: 200 * time.Millisecond},
			MinConnectTimeout: 10 * time.Second, // else a busy machine never gets through a handshake
		}))
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn
}

func (d *Daemon) end() {
	if err := d.agent.Stop(); err != nil {
		d.t.Error(err)
	}
	if d.t.Failed() {
		d.t.Logf("the kubelet's log ends with\n%s", d.agent.LogTail())
	}
}

// Kill ends the process as a crash would.
func (d *Daemon) Kill() { d.agent.Kill() }

// Launch starts the process again, on the same directories and ports, and does
// not wait for it: calls over Conn do.
func (d *Daemon) Launch() {
	d.t.Helper()
	must(d.t, d.agent.Launch())
}

// Conn is a connection over the socket. A call waits while the process is away,
// and fails with Unavailable if it goes in the middle of it.
func (d *Daemon) Conn() *grpc.ClientConn { return d.conn }

// Delete starts the deletion of a pod in the default namespace.
func (d *Daemon) Delete(name string) {
	d.t.Helper()
	_, err := nodev1.NewPodsServiceClient(d.conn).DeletePod(d.t.Context(), &nodev1.DeletePodRequest{Namespace: "default", Name: name})
	if err != nil {
		d.t.Fatalf("delete %s: %v", name, err)
	}
}

// LogOf is what the process has logged about a pod, in all of its lives.
func (d *Daemon) LogOf(name string) string {
	var lines strings.Builder
	for line := range strings.Lines(d.agent.Log()) {
		if strings.Contains(line, name) {
			lines.WriteString(line)
		}
	}
	return lines.String()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
