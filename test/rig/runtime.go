package rig

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	runtimev1 "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/test/pace"
)

const (
	cniBinDir    = "/usr/lib/cni"
	startTimeout = 60 * time.Second
)

// Runtime is one private containerd with everything that belongs to it.
type Runtime struct {
	Endpoint     string // "unix:///..."
	Pid          int    // containerd's process ID; 0 after Kill
	Dir          string // the directory of all files of this rig
	LogPath      string // the path of containerd's log
	CgroupParent string // the parent of pods' cgroups, which are removed with the rig

	slot     slot
	lock     net.Listener
	pause    string
	disk     int64 // the size of the file system for images; zero: none of its own
	registry *registry
	daemon   *exec.Cmd
	bundle   string // the directory of the bundle; empty: the machine's containerd
	own      *own   // nil: the machine's containerd
	conn     *grpc.ClientConn
	lost     []byte // the network configuration that LoseNetwork removed
}

// Option changes how a rig is made.
type Option func(*Runtime)

// SandboxImage makes sandboxes run another image than the rig's own, by its short name.
func SandboxImage(short string) Option { return func(r *Runtime) { r.pause = short } }

// Containerd starts a containerd for this test and returns once it is ready to run pods. It is
// removed with everything that it made when the test ends.
func Containerd(t testing.TB, opts ...Option) *Runtime {
	t.Helper()
	Require(t)
	r, err := New(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Remove(); err != nil {
			t.Errorf("remove the rig: %v", err)
		}
	})
	return r
}

// New is Containerd for a program that is not a test. Remove undoes it.
func New(opts ...Option) (*Runtime, error) {
	if reason := missing(); reason != "" {
		return nil, fmt.Errorf("start a private containerd: %s", reason)
	}
	r := &Runtime{pause: "pause", bundle: os.Getenv(BundleEnv)}
	for _, opt := range opts {
		opt(r)
	}
	if err := r.create(); err != nil {
		err = fmt.Errorf("start a private containerd: %w\n%s", err, r.logTail())
		return nil, errors.Join(err, r.Remove())
	}
	return r, nil
}

func (r *Runtime) create() error {
	var err error
	if r.slot, r.lock, err = claim(); err != nil {
		return err
	}
	if r.slot.leftover() {
		if err := sweep(r.slot); err != nil {
			return fmt.Errorf("sweep what an earlier run left: %w", err)
		}
	}
	r.Dir = r.slot.dir()
	r.LogPath = filepath.Join(r.Dir, "containerd.log")
	r.CgroupParent = r.slot.cgroup()
	r.Endpoint = "unix://" + r.socket()
	if r.registry, err = serveImages(); err != nil {
		return err
	}
	if err := r.writeConfig(); err != nil {
		return err
	}
	if err := r.mountDisk(); err != nil {
		return err
	}
	if err := r.useBundle(); err != nil {
		return err
	}
	if r.conn, err = dial(r.Endpoint); err != nil {
		return err
	}
	return r.Start()
}

// socket returns the path of the socket. It is short: a unix address has 108 bytes, and containerd
// appends to it.
func (r *Runtime) socket() string { return filepath.Join(r.Dir, "c.sock") }

// Start runs containerd after a Kill and waits until it can run pods.
func (r *Runtime) Start() error {
	if r.Pid != 0 {
		return errors.New("start containerd: it is running")
	}
	if r.own != nil {
		return r.own.start(r)
	}
	log, err := os.OpenFile(r.LogPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open containerd's log: %w", err)
	}
	defer log.Close()
	cmd := exec.Command("containerd", "--config", filepath.Join(r.Dir, "config.toml"))
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = r.Dir
	cmd.Env = append(os.Environ(), "TMPDIR="+filepath.Join(r.Dir, "tmp"))
	// Ctrl-C goes to the program that owns the rig: it needs containerd to remove the pods.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start containerd: %w", err)
	}
	r.daemon, r.Pid = cmd, cmd.Process.Pid
	return r.waitReady()
}

// Kill ends containerd with SIGKILL. Shims and containers run on.
func (r *Runtime) Kill() error {
	if r.Pid == 0 {
		return nil
	}
	if r.own != nil {
		err := r.own.kill(r.Pid)
		r.Pid = 0
		return err
	}
	if err := r.daemon.Process.Kill(); err != nil {
		return fmt.Errorf("kill containerd: %w", err)
	}
	r.daemon.Wait() // it reports the signal as an error
	r.daemon, r.Pid = nil, 0
	return nil
}

// waitReady polls until runtime and network are ready.
func (r *Runtime) waitReady() error { return r.waitFor("containerd", r.ready) }

func (r *Runtime) waitFor(what string, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), pace.Of(startTimeout))
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", what, err)
		case <-tick.C:
		}
	}
}

func (r *Runtime) ready(ctx context.Context) error {
	status, err := r.CRI().Status(ctx, &runtimev1.StatusRequest{})
	if err != nil {
		return err
	}
	for _, c := range status.Status.Conditions {
		if !c.Status {
			return fmt.Errorf("%s is false: %s", c.Type, c.Message)
		}
	}
	return nil
}

// Conn returns a connection to the runtime that reconnects by itself.
func (r *Runtime) Conn() *grpc.ClientConn { return r.conn }

// CRI returns a client of the runtime service.
func (r *Runtime) CRI() runtimev1.RuntimeServiceClient {
	return runtimev1.NewRuntimeServiceClient(r.conn)
}

// Images returns a client of the image service.
func (r *Runtime) Images() runtimev1.ImageServiceClient {
	return runtimev1.NewImageServiceClient(r.conn)
}

// dial connects with a short back-off: the default of a second would hide how soon a restarted
// runtime is back.
func dial(endpoint string) (*grpc.ClientConn, error) {
	conn, err := grpc.NewClient(endpoint,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{BaseDelay: 10 * time.Millisecond, Multiplier: 1.5, MaxDelay: 200 * time.Millisecond},
			// Its default is the back-off, too short for a busy machine.
			MinConnectTimeout: 10 * time.Second,
		}))
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", endpoint, err)
	}
	return conn, nil
}

// logTail returns the end of containerd's log, for a failing test to show.
func (r *Runtime) logTail() string {
	data, err := os.ReadFile(r.LogPath)
	if err != nil {
		return ""
	}
	return string(data[max(0, len(data)-4096):])
}
