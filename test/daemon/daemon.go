package daemon

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/connectivity"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/test/agent"
	"nodal/test/rig"
)

// Patience bounds every wait: long enough for a slow machine, short enough to notice a hang.
const Patience = 60 * time.Second

// Daemon is one kubelet with a client of its node API.
type Daemon struct {
	Dir     string // the root directory
	PodLogs string // the directory with the logs of containers
	Socket  string
	Port    int // the TLS port
	View    int // the read-only port

	t     testing.TB
	agent *agent.Agent
	conn  *grpc.ClientConn
}

// Start runs a kubelet on the runtime until the test ends.
func Start(t testing.TB, rt *rig.Runtime, flags ...string) *Daemon {
	t.Helper()
	return StartWith(t, agent.Config{
		Dir: filepath.Join(rt.Dir, "node"), Binary: build(t), Endpoint: rt.Endpoint, CgroupParent: rt.CgroupParent, Flags: flags,
	})
}

// StartAlone runs a kubelet with its own container runtime until the test ends, and then removes
// both.
func StartAlone(t testing.TB, flags ...string) *Daemon {
	t.Helper()
	// Not below /tmp, which may be on a file system without overlay.
	dir, err := os.MkdirTemp("/var/lib", "nodal-alone-")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	c := agent.Config{Dir: dir, Binary: build(t), Flags: flags}
	t.Cleanup(func() {
		if out, err := exec.Command(c.Binary, "clean", "--root-dir", c.Root()).CombinedOutput(); err != nil {
			t.Errorf("take the node away: %v\n%s", err, out)
		}
	})
	return StartWith(t, c)
}

func build(t testing.TB) (binary string) {
	t.Helper()
	binary, err := agent.Build(t.TempDir())
	must(t, err)
	return binary
}

// StartWith runs a kubelet of this configuration until the test ends. It chooses the ports and the socket.
func StartWith(t testing.TB, c agent.Config) *Daemon {
	t.Helper()
	ports, claim, err := agent.ClaimPorts()
	must(t, err)
	t.Cleanup(func() { claim.Close() })
	c.Ports, c.Socket = ports, filepath.Join(c.Dir, "node.sock")
	c.Flags = append([]string{"--hostname-override", "node-a", "--v", "4"}, c.Flags...)
	a := agent.New(c)
	d := &Daemon{Dir: a.Root(), PodLogs: a.PodLogs(), Socket: a.Socket, Port: ports.Secure, View: ports.ReadOnly, t: t, agent: a, conn: dial(t, a)}
	t.Cleanup(d.end)
	must(t, a.Start())
	return d
}

// dial connects with root's rights, and again after each start of the process.
func dial(t testing.TB, a *agent.Agent) *grpc.ClientConn {
	t.Helper()
	conn, err := a.Dial(
		grpc.WithDefaultCallOptions(grpc.WaitForReady(true)),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 10 * time.Millisecond, Multiplier: 1.5, MaxDelay: 200 * time.Millisecond},
			MinConnectTimeout: 10 * time.Second, // with less time, a busy machine never completes a handshake
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

// Kill ends the process as a crash would. It waits until Conn has noticed: a call before that fails,
// since it goes out on the connection to the process that has ended.
func (d *Daemon) Kill() {
	d.agent.Kill()
	for d.conn.GetState() == connectivity.Ready {
		d.conn.WaitForStateChange(d.t.Context(), connectivity.Ready)
	}
}

// Launch starts the process again with the same directories and ports. It does not wait; calls over
// Conn do.
func (d *Daemon) Launch() {
	d.t.Helper()
	must(d.t, d.agent.Launch())
}

// Pid returns the process ID of the running process.
func (d *Daemon) Pid() int { return d.agent.Pid() }

// Run runs a verb of the kubelet's command line beside it, and returns what that prints.
func (d *Daemon) Run(args ...string) ([]byte, error) {
	return exec.Command(d.agent.Binary, args...).Output()
}

// HTTP returns a client that connects to the socket, whatever the host of a URL.
func (d *Daemon) HTTP() *http.Client { return d.agent.HTTP() }

// Conn returns a connection over the socket. A call waits while the process is down, and fails with
// Unavailable if the process ends during the call.
func (d *Daemon) Conn() *grpc.ClientConn { return d.conn }

// Apply posts a manifest.
func (d *Daemon) Apply(manifest string) {
	d.t.Helper()
	_, err := nodev1.NewManifestsServiceClient(d.conn).Apply(d.t.Context(), &nodev1.ApplyRequest{Manifest: manifest})
	if err != nil {
		d.t.Fatalf("apply: %v", err)
	}
}

// Delete starts the deletion of a pod in the default namespace.
func (d *Daemon) Delete(name string) {
	d.t.Helper()
	_, err := nodev1.NewPodsServiceClient(d.conn).DeletePod(d.t.Context(), &nodev1.DeletePodRequest{Namespace: "default", Name: name})
	if err != nil {
		d.t.Fatalf("delete %s: %v", name, err)
	}
}

// Import imports a test image into the node, as images import does.
func (d *Daemon) Import(short string) {
	d.t.Helper()
	out, in := io.Pipe()
	go func() { in.CloseWithError(rig.Save(in, short)) }()
	response, err := d.agent.HTTP().Post("http://node/v1/images:import", "application/x-tar", out)
	must(d.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	must(d.t, err)
	if response.StatusCode != http.StatusOK {
		d.t.Fatalf("import %s: %s", short, text)
	}
}

// LogOf returns the lines of the log that name a pod, over all starts of the process.
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
