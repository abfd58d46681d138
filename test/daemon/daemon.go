package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"

	"nodal/test/rig"
)

// Patience bounds every wait: long enough for a slow machine, short enough to
// see what hangs.
const Patience = 60 * time.Second

// Daemon is one kubelet process and what belongs to it.
type Daemon struct {
	Dir       string // the root directory
	Manifests string // the directory of static pods
	Logs      string // podLogsDir
	Socket    string
	Port      int // TLS
	Healthz   int
	NodeName  string

	t     testing.TB
	args  []string
	cmd   *exec.Cmd
	ended chan struct{}
	log   *os.File
	conn  *grpc.ClientConn
}

// Start runs a kubelet on the runtime until the test ends. Args are added to
// its command line.
func Start(t testing.TB, rt *rig.Runtime, args ...string) *Daemon {
	t.Helper()
	d := New(t, rt, args...)
	d.Restart()
	return d
}

// New prepares a kubelet without starting it.
func New(t testing.TB, rt *rig.Runtime, args ...string) *Daemon {
	t.Helper()
	base := shortDir(t)
	d := &Daemon{
		t: t, Dir: filepath.Join(base, "root"), Manifests: filepath.Join(base, "manifests"), Logs: filepath.Join(base, "logs"),
		Socket: filepath.Join(base, "s"), Port: freePort(t), Healthz: freePort(t), NodeName: "testnode",
	}
	must(t, os.MkdirAll(d.Manifests, 0o755))
	config := filepath.Join(base, "config.yaml")
	must(t, os.WriteFile(config, fmt.Appendf(nil, `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
podLogsDir: %s
cgroupRoot: %s
staticPodPath: %s
`, d.Logs, rt.CgroupParent, d.Manifests), 0o644))
	var err error
	d.log, err = os.Create(filepath.Join(base, "log"))
	must(t, err)
	d.args = append([]string{
		"--config=" + config, "--root-dir=" + d.Dir, "--socket=" + d.Socket, "--hostname-override=" + d.NodeName,
		"--address=127.0.0.1", "--port=" + strconv.Itoa(d.Port), "--healthz-port=" + strconv.Itoa(d.Healthz),
		"--container-runtime-endpoint=" + rt.Endpoint, "--v=4",
	}, args...)
	t.Cleanup(d.cleanup)
	return d
}

// shortDir is a temporary directory whose sockets fit into a socket address.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "nodal")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	return dir
}

// freePort is a port that nobody listens on now.
func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Restart starts the process again, on the same directories and ports, and
// returns once it answers.
func (d *Daemon) Restart() {
	d.t.Helper()
	d.Launch()
	d.AwaitHealthy()
}

// Launch starts the process and does not wait for it.
func (d *Daemon) Launch() {
	d.t.Helper()
	cmd := exec.Command(Binary(d.t), d.args...)
	cmd.Stdout, cmd.Stderr = d.log, d.log
	must(d.t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		cmd.Wait()
		close(ended)
	}()
	d.cmd, d.ended = cmd, ended
}

// AwaitHealthy waits until the node says that it is well.
func (d *Daemon) AwaitHealthy() {
	d.t.Helper()
	client := &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", d.Socket)
		},
		DisableKeepAlives: true,
	}}
	deadline := time.After(Patience)
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		response, err := client.Get("http://node/healthz")
		if err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-d.ended:
			d.t.Fatalf("the kubelet ended at its start:\n%s", d.LogTail())
		case <-deadline:
			d.t.Fatalf("the kubelet does not answer: %v\n%s", err, d.LogTail())
		case <-time.After(pause):
		}
	}
}

// Pid is the process, 0 when it does not run.
func (d *Daemon) Pid() int {
	if d.cmd == nil {
		return 0
	}
	return d.cmd.Process.Pid
}

// Kill ends the process as a crash would.
func (d *Daemon) Kill() { d.end(syscall.SIGKILL) }

// Stop asks the process to end and waits for it.
func (d *Daemon) Stop() { d.end(syscall.SIGTERM) }

func (d *Daemon) end(signal syscall.Signal) {
	d.t.Helper()
	if d.cmd == nil {
		return
	}
	if err := d.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		d.t.Errorf("signal the kubelet: %v", err)
	}
	select {
	case <-d.ended:
	case <-time.After(Patience):
		d.t.Errorf("the kubelet does not end on %v", signal)
		d.cmd.Process.Kill()
		<-d.ended
	}
	d.cmd = nil
}

// Ended is closed when the process ends by itself.
func (d *Daemon) Ended() <-chan struct{} { return d.ended }

// ExitCode is how the process ended; call it after Ended.
func (d *Daemon) ExitCode() int { return d.cmd.ProcessState.ExitCode() }

func (d *Daemon) cleanup() {
	if d.conn != nil {
		d.conn.Close()
	}
	d.Kill()
	if d.t.Failed() {
		d.t.Logf("the kubelet's log:\n%s", d.LogTail())
	}
	d.log.Close()
}

// LogTail is the end of what the process logged.
func (d *Daemon) LogTail() string {
	data, err := os.ReadFile(d.log.Name())
	if err != nil {
		return err.Error()
	}
	const enough = 16 << 10
	return string(data[max(0, len(data)-enough):])
}

// Conn is a gRPC connection over the socket, with the rights of root.
func (d *Daemon) Conn() *grpc.ClientConn {
	d.t.Helper()
	if d.conn == nil {
		conn, err := grpc.NewClient("unix://"+d.Socket, grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithDefaultCallOptions(grpc.WaitForReady(true)), // the process may just have been started again
			grpc.WithConnectParams(grpc.ConnectParams{
				Backoff:           backoff.Config{BaseDelay: 10 * time.Millisecond, Multiplier: 1.5, MaxDelay: 200 * time.Millisecond},
				MinConnectTimeout: 10 * time.Second, // else a busy machine never gets through a handshake
			}))
		must(d.t, err)
		d.conn = conn
	}
	return d.conn
}

var binary = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("NODAL_KUBELET"); path != "" {
		return path, nil
	}
	dir, err := os.MkdirTemp("", "nodal-kubelet")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "kubelet")
	build := exec.Command("go", "build", "-trimpath", "-o", path, "nodal/cmd/kubelet")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the kubelet: %w\n%s", err, bytes.TrimSpace(out))
	}
	return path, nil
})

// Binary is the kubelet under test: $NODAL_KUBELET, or one that is built once
// for the test process.
func Binary(t testing.TB) string {
	t.Helper()
	path, err := binary()
	must(t, err)
	return path
}
