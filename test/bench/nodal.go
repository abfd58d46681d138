package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/test/agent"
	"nodal/test/process"
	"nodal/test/rig"
)

// nodal is our own agent, reached by gRPC over its socket.
type nodal struct {
	manifests nodev1.ManifestsServiceClient
	pods      nodev1.PodsServiceClient
	logs      nodev1.LogsServiceClient
	exec      nodev1.ExecServiceClient
	socket    *http.Client
}

var _ kubelet = (*nodal)(nil)

func newNodal(t testing.TB, binary string, flags ...string) (*column, error) {
	rt := rig.Containerd(t)
	c := &column{name: nodalColumn, rt: rt, truth: truth{rt.CRI()}}
	root := filepath.Join(rt.Dir, "nodal")
	if err := os.MkdirAll(root, 0o755); err != nil {
		return nil, fmt.Errorf("make the root directory: %w", err)
	}
	ports, err := c.setUp(t, binary, root)
	if err != nil {
		return nil, err
	}
	c.process.Args = append(c.process.Args, flags...)
	if err := c.begin(t); err != nil {
		return nil, err
	}
	if c.web, err = secureWeb(root, ports); err != nil {
		return nil, err
	}
	socket := nodalSocket(root)
	conn, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 10 * time.Millisecond, Multiplier: 1, MaxDelay: 10 * time.Millisecond},
			MinConnectTimeout: 10 * time.Second,
		}))
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", socket, err)
	}
	t.Cleanup(func() { conn.Close() })
	c.kubelet = &nodal{
		manifests: nodev1.NewManifestsServiceClient(conn), pods: nodev1.NewPodsServiceClient(conn),
		logs: nodev1.NewLogsServiceClient(conn), exec: nodev1.NewExecServiceClient(conn), socket: unixClient(socket),
	}
	return c, nil
}

func nodalSocket(root string) string { return filepath.Join(root, "n.sock") }

// ports holds the ports of a kubelet on loopback.
type ports struct{ secure, readOnly int }

// freePorts reserves ports for a kubelet until the claim is closed, even while the kubelet is down.
func freePorts() (at ports, claim net.Listener, err error) {
	found, claim, err := agent.ClaimPorts()
	return ports{found.Secure, found.ReadOnly}, claim, err
}

// setUp writes the configuration and prepares the process, without starting it.
func (c *column) setUp(t testing.TB, binary, root string) (ports, error) {
	at, claim, err := freePorts()
	if err != nil {
		return at, err
	}
	t.Cleanup(func() { claim.Close() })
	config := filepath.Join(root, "config.yaml")
	if err := os.WriteFile(config, []byte(nodalConfig(c.rt, root)), 0o600); err != nil {
		return at, fmt.Errorf("write the configuration: %w", err)
	}
	c.process = &process.Process{Path: binary, Log: filepath.Join(root, "log"), Args: []string{
		"--config", config, "--root-dir", root, "--socket", nodalSocket(root), "--hostname-override", "bench",
		"--address", "127.0.0.1", "--port", strconv.Itoa(at.secure), "--read-only-port", strconv.Itoa(at.readOnly), "--healthz-port", "0",
	}}
	c.web = &web{client: http.DefaultClient, plain: localURL("http", at.readOnly)}
	return at, nil
}

// nodalConfig returns the agent's configuration. The agent watches over all that it watches by default, but a nearly full
// disk or memory must not make it refuse or evict pods, or remove images.
func nodalConfig(rt *rig.Runtime, root string) string {
	return fmt.Sprintf(`apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerRuntimeEndpoint: %s
cgroupRoot: %s
podLogsDir: %s
evictionHard: {memory.available: 1Mi, nodefs.available: 1Mi, nodefs.inodesFree: "1", imagefs.available: 1Mi, imagefs.inodesFree: "1"}
imageGCHighThresholdPercent: 99
maxPods: 250
`, rt.Endpoint, rt.CgroupParent, filepath.Join(root, "pods"))
}

// begin runs the process until the test ends, and waits until it answers.
func (c *column) begin(t testing.TB) error {
	if err := c.process.Start(); err != nil {
		return err
	}
	t.Cleanup(func() {
		if err := c.process.Stop(syscall.SIGTERM, stopTimeout); err != nil {
			t.Errorf("%v", err)
		}
	})
	return poll(context.Background(), 20*time.Millisecond, func() (bool, error) {
		if err := c.process.Alive(); err != nil {
			return false, err
		}
		_, err := c.web.readyPods(context.Background())
		return err == nil, nil
	})
}

// secureWeb returns a client that trusts the node's authority and sends its token.
func secureWeb(root string, at ports) (*web, error) {
	authority, err := os.ReadFile(filepath.Join(root, "pki/ca.crt"))
	token, err2 := os.ReadFile(filepath.Join(root, "credentials/admin.token"))
	if err := errors.Join(err, err2); err != nil {
		return nil, fmt.Errorf("read the node's credentials: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(authority) {
		return nil, errors.New("read the node's credentials: no certificate in pki/ca.crt")
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	return &web{
		client: client, plain: localURL("http", at.readOnly), secure: localURL("https", at.secure), token: strings.TrimSpace(string(token)),
	}, nil
}

// Post posts all pods as one bundle.
func (n *nodal) Post(ctx context.Context, pods ...pod) error {
	if _, err := n.manifests.Apply(ctx, &nodev1.ApplyRequest{Manifest: manifests(pods)}); err != nil {
		return fmt.Errorf("apply %d pods: %w", len(pods), err)
	}
	return nil
}

func (n *nodal) Edit(ctx context.Context, p pod) error { return n.Post(ctx, p) }

func (n *nodal) Killed(context.Context, pod) error { return nil }

func (n *nodal) Delete(ctx context.Context, pods ...pod) error {
	if _, err := n.manifests.Delete(ctx, &nodev1.DeleteRequest{Manifest: manifests(pods)}); err != nil {
		return fmt.Errorf("delete %d pods: %w", len(pods), err)
	}
	return nil
}

// awaitReady reads a watch until it shows the pod as ready.
func awaitReady(watch grpc.ServerStreamingClient[nodev1.WatchPodsResponse], p pod) (time.Time, error) {
	for {
		message, err := watch.Recv()
		if err != nil {
			return time.Time{}, fmt.Errorf("watch for pod %s: %w", p.name, err)
		}
		if message.Pod.GetName() == p.name && message.Pod.Ready {
			return time.Now(), nil
		}
	}
}
