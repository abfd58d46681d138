package conformance

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/test/pace"
)

// patience bounds the wait for a change that the runtime makes by itself.
var patience = pace.Of(30 * time.Second)

// pod is one case's sandbox, and the runtime that it is in.
type pod struct {
	Runtime
	cri    runtime.RuntimeServiceClient
	images runtime.ImageServiceClient
	config *runtime.PodSandboxConfig
	id     string
}

// newPod returns a pod with a running sandbox.
func newPod(t *testing.T, rt Runtime, uid string) *pod {
	t.Helper()
	p := &pod{
		Runtime: rt,
		cri:     runtime.NewRuntimeServiceClient(rt.Conn),
		images:  runtime.NewImageServiceClient(rt.Conn),
		config: &runtime.PodSandboxConfig{
			Metadata:     &runtime.PodSandboxMetadata{Name: "conformance", Namespace: "default", Uid: uid},
			Hostname:     "conformance",
			LogDirectory: filepath.Join(rt.LogDir, uid),
			Labels:       map[string]string{"case": uid},
			Annotations:  map[string]string{"note": "a note: with, punctuation"},
			Linux:        &runtime.LinuxPodSandboxConfig{CgroupParent: rt.CgroupParent},
		},
	}
	if err := os.MkdirAll(p.config.LogDirectory, 0o755); err != nil {
		t.Fatalf("make the log directory: %v", err)
	}
	p.id = p.runSandbox(t)
	return p
}

// runSandbox runs a sandbox from the pod's configuration. It is removed with the test.
func (p *pod) runSandbox(t *testing.T) string {
	t.Helper()
	response, err := p.cri.RunPodSandbox(t.Context(), &runtime.RunPodSandboxRequest{Config: p.config})
	if err != nil {
		t.Fatalf("run sandbox: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), pace.Of(patience))
		defer cancel()
		request := &runtime.RemovePodSandboxRequest{PodSandboxId: response.GetPodSandboxId()}
		if _, err := p.cri.RemovePodSandbox(ctx, request); err != nil {
			t.Errorf("remove sandbox: %v", err)
		}
	})
	return response.GetPodSandboxId()
}

// request returns a request for a container of the pod that runs the command.
func (p *pod) request(name string, command []string) *runtime.CreateContainerRequest {
	return &runtime.CreateContainerRequest{
		PodSandboxId:  p.id,
		SandboxConfig: p.config,
		Config: &runtime.ContainerConfig{
			Metadata:    &runtime.ContainerMetadata{Name: name},
			Image:       &runtime.ImageSpec{Image: p.Image},
			Command:     command,
			LogPath:     name + ".log",
			Labels:      map[string]string{"container": name},
			Annotations: maps.Clone(p.config.Annotations),
			Linux:       &runtime.LinuxContainerConfig{},
		},
	}
}

func (p *pod) create(t *testing.T, name string, command []string) string {
	t.Helper()
	response, err := p.cri.CreateContainer(t.Context(), p.request(name, command))
	if err != nil {
		t.Fatalf("create container: %v", err)
	}
	return response.GetContainerId()
}

func (p *pod) start(t *testing.T, name string, command []string) string {
	t.Helper()
	id := p.create(t, name, command)
	if _, err := p.cri.StartContainer(t.Context(), &runtime.StartContainerRequest{ContainerId: id}); err != nil {
		t.Fatalf("start container: %v", err)
	}
	return id
}

// startReady starts a program and waits until it prints "ready".
func (p *pod) startReady(t *testing.T, command []string) string {
	t.Helper()
	id := p.start(t, "main", command)
	p.waitLog(t, "main", "ready")
	return id
}

func (p *pod) logPath(name string) string {
	return filepath.Join(p.config.LogDirectory, name+".log")
}

// waitLog waits for a line and returns everything logged until then.
func (p *pod) waitLog(t *testing.T, name, line string) string {
	t.Helper()
	var data []byte
	eventually(t, "the line "+line, func() bool {
		var err error
		data, err = os.ReadFile(p.logPath(name))
		if err != nil && !os.IsNotExist(err) {
			t.Fatalf("read the container log: %v", err)
		}
		return strings.Contains(string(data), " "+line+"\n")
	})
	return string(data)
}

func (p *pod) status(t *testing.T, id string) *runtime.ContainerStatus {
	t.Helper()
	response, err := p.cri.ContainerStatus(t.Context(), &runtime.ContainerStatusRequest{ContainerId: id})
	if err != nil {
		t.Fatalf("container status: %v", err)
	}
	return response.GetStatus()
}

func (p *pod) sandboxStatus(t *testing.T) *runtime.PodSandboxStatus {
	t.Helper()
	response, err := p.cri.PodSandboxStatus(t.Context(), &runtime.PodSandboxStatusRequest{PodSandboxId: p.id})
	if err != nil {
		t.Fatalf("sandbox status: %v", err)
	}
	return response.GetStatus()
}

// waitExit waits until the container has exited and returns its last status.
func (p *pod) waitExit(t *testing.T, id string) *runtime.ContainerStatus {
	t.Helper()
	var last *runtime.ContainerStatus
	eventually(t, "the container to exit", func() bool {
		last = p.status(t, id)
		return last.GetState() == runtime.ContainerState_CONTAINER_EXITED
	})
	return last
}

func (p *pod) stop(ctx context.Context, id string, seconds int64) error {
	_, err := p.cri.StopContainer(ctx, &runtime.StopContainerRequest{ContainerId: id, Timeout: seconds})
	return err
}

// eventually polls until done returns true.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.After(pace.Of(patience))
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited %s for %s", pace.Of(patience), what)
		}
	}
}

func wantCode(t *testing.T, what string, err error, want codes.Code) {
	t.Helper()
	if got := status.Code(err); got != want {
		t.Errorf("%s: got %s (%v), want %s", what, got, err, want)
	}
}

func wantFailure(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: got no error, want one", what)
	}
}

func wantSuccess(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// wantExit checks how a container ended. On a real runtime, different processes stamp start and
// end. So a very short program may seem to end before it started, and nothing may rely on their
// order.
func wantExit(t *testing.T, got *runtime.ContainerStatus, code int32, reason string) {
	t.Helper()
	if got.GetState() != runtime.ContainerState_CONTAINER_EXITED {
		t.Errorf("state: got %s, want exited", got.GetState())
	}
	if got.GetExitCode() != code || got.GetReason() != reason {
		t.Errorf("end: got code %d, reason %q, want %d, %q", got.GetExitCode(), got.GetReason(), code, reason)
	}
	if min(got.GetStartedAt(), got.GetFinishedAt()) < got.GetCreatedAt() || got.GetCreatedAt() == 0 {
		t.Errorf("got created %d, started %d, finished %d, want all set and none before the creation",
			got.GetCreatedAt(), got.GetStartedAt(), got.GetFinishedAt())
	}
}
