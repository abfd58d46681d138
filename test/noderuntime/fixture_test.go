package noderuntime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/host/podnet"
	"nodal/host/runtime"
	nodal "nodal/node"
	"nodal/test/rig"
)

// node is a runtime under test, with the connections that make pods on it.
type node struct {
	t       *testing.T
	rig     *rig.Runtime
	config  runtime.Config
	network *podnet.Network
	events  chan nodal.Event
	cri     runtimeapi.RuntimeServiceClient
	images  runtimeapi.ImageServiceClient
	driver  string // the cgroup driver, known once it has started
}

// newNode prepares a node, and fails the test if it leaves anything behind. It uses the bundle that
// rigs use, or the programs of the host.
func newNode(t *testing.T) *node {
	t.Helper()
	return newNodeBeside(t, rig.Containerd(t))
}

func newNodeBeside(t *testing.T, rt *rig.Runtime) *node {
	t.Helper()
	before := rig.Snapshot()
	n := &node{t: t, rig: rt, events: make(chan nodal.Event, 64)}
	n.config = runtime.Config{
		RootDir: makeRoot(t), SandboxImage: rt.Image("pause"),
		Log:  slog.New(slog.DiscardHandler),
		Tell: func(e nodal.Event) { n.events <- e },
	}
	if dir := os.Getenv(rig.BundleEnv); dir != "" {
		n.config.Archive, n.config.Index = read(t, dir, "bundle.tar.zst"), read(t, dir, "bundle.json")
	}
	n.network = podnet.New(podnet.Config{Places: podnet.Places(n.config.Places()), Reopens: len(n.config.Index) > 0})
	n.config.Network = n.network
	t.Cleanup(func() {
		n.clean()
		n.wantNothing(before)
	})
	n.dial()
	return n
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// clean removes everything that the node has left, and the slice that systemd made for its pods.
func (n *node) clean() {
	n.t.Helper()
	if err := runtime.Clean(context.Background(), n.config); err != nil {
		n.t.Errorf("clean: %v", err)
	}
	if n.driver == "systemd" {
		// It fails if no pod was made; leftovers are searched for later.
		_ = exec.Command("systemctl", "stop", n.slice()).Run()
	}
}

// makeRoot makes a root directory behind a symbolic link, as if it lay on another disk.
func makeRoot(t *testing.T) string {
	t.Helper()
	// Not below /tmp, which may be on a file system without overlay.
	dir, err := os.MkdirTemp("/var/lib", "nodal-runtime-")
	if err != nil {
		t.Fatal(err)
	}
	link := dir + "-link"
	t.Cleanup(func() {
		if err := errors.Join(os.Remove(dir), os.Remove(link)); err != nil {
			t.Errorf("the root directory is not empty: %v", err)
		}
	})
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	return link
}

func (n *node) dial() {
	conn, err := grpc.NewClient("unix://"+filepath.Join(runtime.DefaultStateDir(n.config.RootDir), "containerd.sock"),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { conn.Close() })
	n.cri, n.images = runtimeapi.NewRuntimeServiceClient(conn), runtimeapi.NewImageServiceClient(conn)
}

func (n *node) start() *runtime.Runtime {
	n.t.Helper()
	begin := time.Now()
	r, err := runtime.Start(n.t.Context(), n.config)
	if err != nil {
		n.t.Fatalf("start: %v", err)
	}
	n.t.Logf("started in %v", time.Since(begin).Round(time.Millisecond))
	n.driver = r.CgroupDriver()
	return r
}

// pod runs a pod with one container, which serves HTTP if there are ports and waits if not.
func (n *node) pod(name string, ports ...*runtimeapi.PortMapping) (sandbox, container string) {
	n.t.Helper()
	ctx := n.t.Context()
	config := &runtimeapi.PodSandboxConfig{
		Metadata:     &runtimeapi.PodSandboxMetadata{Name: name, Namespace: "default", Uid: name},
		Hostname:     name,
		LogDirectory: n.config.RootDir + "/runtime/logs",
		PortMappings: ports,
		Linux:        &runtimeapi.LinuxPodSandboxConfig{CgroupParent: n.cgroup(name)},
	}
	begin := time.Now()
	s, err := n.cri.RunPodSandbox(ctx, &runtimeapi.RunPodSandboxRequest{Config: config})
	if err != nil {
		n.t.Fatalf("run sandbox: %v", err)
	}
	if err := n.network.Connect(s.PodSandboxId); err != nil {
		n.t.Fatalf("connect sandbox: %v", err)
	}
	image := &runtimeapi.ImageSpec{Image: n.rig.Image("busybox")}
	if _, err := n.images.PullImage(ctx, &runtimeapi.PullImageRequest{Image: image}); err != nil {
		n.t.Fatalf("pull: %v", err)
	}
	c, err := n.cri.CreateContainer(ctx, &runtimeapi.CreateContainerRequest{
		PodSandboxId: s.PodSandboxId, SandboxConfig: config,
		Config: &runtimeapi.ContainerConfig{
			Metadata: &runtimeapi.ContainerMetadata{Name: "main"}, Image: image, LogPath: name + ".log",
			Command: []string{"sh", "-c", "echo hello > /index.html; exec httpd -f -p 8080 -h /"},
			Linux:   &runtimeapi.LinuxContainerConfig{},
		},
	})
	if err != nil {
		n.t.Fatalf("create container: %v", err)
	}
	if _, err := n.cri.StartContainer(ctx, &runtimeapi.StartContainerRequest{ContainerId: c.ContainerId}); err != nil {
		n.t.Fatalf("start container: %v", err)
	}
	n.t.Logf("pod %s in %v", name, time.Since(begin).Round(time.Millisecond))
	n.awaitServing(s.PodSandboxId)
	return s.PodSandboxId, c.ContainerId
}

// awaitServing waits until a pod takes connections: a container that runs may not listen yet.
func (n *node) awaitServing(sandbox string) {
	n.t.Helper()
	namespace, err := n.namespace(sandbox), error(nil)
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		err = inNamespace(namespace, func() error {
			conn, err := net.Dial("tcp", "127.0.0.1:8080")
			if err == nil {
				conn.Close()
			}
			return err
		})
		if err == nil {
			return
		}
	}
	n.t.Fatalf("the pod does not serve: %v", err)
}

// cgroup makes a pod's cgroup as an agent would.
func (n *node) cgroup(pod string) string {
	if n.driver == "systemd" {
		return n.slice()
	}
	return "/kubepods-nodal-runtime/pod" + pod
}

// slice returns the slice that holds the pods where systemd makes cgroups. systemd makes it with
// the first pod and keeps it.
func (n *node) slice() string { return "nodaltest" + runtime.ID(n.config.RootDir)[:8] + ".slice" }

// namespace returns the network namespace of a pod.
func (n *node) namespace(sandbox string) string {
	n.t.Helper()
	reply, err := n.cri.PodSandboxStatus(n.t.Context(), &runtimeapi.PodSandboxStatusRequest{PodSandboxId: sandbox, Verbose: true})
	if err != nil {
		n.t.Fatalf("sandbox status: %v", err)
	}
	var info struct {
		Pid int `json:"pid"`
	}
	if err := json.Unmarshal([]byte(reply.Info["info"]), &info); err != nil {
		n.t.Fatalf("sandbox status: %v", err)
	}
	return fmt.Sprintf("/proc/%d/ns/net", info.Pid)
}

// wantRunning checks that the container runs and was never restarted.
func (n *node) wantRunning(container string) {
	n.t.Helper()
	reply, err := n.cri.ContainerStatus(n.t.Context(), &runtimeapi.ContainerStatusRequest{ContainerId: container})
	if err != nil {
		n.t.Fatalf("container status: %v", err)
	}
	if got := reply.Status.State; got != runtimeapi.ContainerState_CONTAINER_RUNNING {
		n.t.Errorf("container is %v, want it to run on", got)
	}
}

// wantExec checks that a program can be started in the container.
func (n *node) wantExec(container string) {
	n.t.Helper()
	reply, err := n.cri.ExecSync(n.t.Context(), &runtimeapi.ExecSyncRequest{ContainerId: container, Cmd: []string{"cat", "/index.html"}, Timeout: 10})
	if err != nil || string(reply.Stdout) != "hello\n" {
		n.t.Errorf("exec: got %q (%v)", reply.GetStdout(), err)
	}
}

// wantEvent waits for the next event and checks its reason.
func (n *node) wantEvent(reason string) nodal.Event {
	n.t.Helper()
	select {
	case e := <-n.events:
		if e.Reason != reason {
			n.t.Fatalf("got event %+v, want %s", e, reason)
		}
		return e
	case <-time.After(30 * time.Second):
		n.t.Fatalf("no event, want %s", reason)
	}
	return nodal.Event{}
}
