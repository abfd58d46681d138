package cri

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const testImage = "app:1"

// fixture is a runtime with a client, inside a bubble of fake time.
type fixture struct {
	*testing.T
	server *Server
	conn   *grpc.ClientConn
	cri    runtime.RuntimeServiceClient
}

// inBubble runs the test on a fake clock. The bubble itself fails the test if a
// goroutine outlives the server.
func inBubble(t *testing.T, config Config, test func(f *fixture)) {
	t.Helper()
	config.Images = append(config.Images, Image{Ref: testImage, Local: true})
	synctest.Test(t, func(t *testing.T) {
		server := NewServer(config)
		link := server.Link()
		conn, err := link.Dial()
		if err != nil {
			t.Fatal(err)
		}
		test(&fixture{T: t, server: server, conn: conn, cri: runtime.NewRuntimeServiceClient(conn)})
		if err := conn.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if err := link.Close(); err != nil {
			t.Error(err)
		}
	})
}

func sandboxRequest(uid string) *runtime.RunPodSandboxRequest {
	return &runtime.RunPodSandboxRequest{Config: &runtime.PodSandboxConfig{
		Metadata: &runtime.PodSandboxMetadata{Name: "web", Namespace: "default", Uid: uid},
	}}
}

func (f *fixture) sandbox(uid string) string {
	f.Helper()
	response, err := f.cri.RunPodSandbox(f.Context(), sandboxRequest(uid))
	if err != nil {
		f.Fatalf("run sandbox: %v", err)
	}
	return response.GetPodSandboxId()
}

func (f *fixture) create(ctx context.Context, sandbox string, words ...string) (string, error) {
	response, err := f.cri.CreateContainer(ctx, &runtime.CreateContainerRequest{
		PodSandboxId: sandbox,
		Config: &runtime.ContainerConfig{
			Metadata: &runtime.ContainerMetadata{Name: "main"},
			Image:    &runtime.ImageSpec{Image: testImage}, Command: words,
		},
	})
	return response.GetContainerId(), err
}

func (f *fixture) start(sandbox string, words ...string) string {
	f.Helper()
	id, err := f.create(f.Context(), sandbox, words...)
	if err != nil {
		f.Fatalf("create container: %v", err)
	}
	if _, err := f.cri.StartContainer(f.Context(), &runtime.StartContainerRequest{ContainerId: id}); err != nil {
		f.Fatalf("start container: %v", err)
	}
	return id
}

func (f *fixture) stop(ctx context.Context, id string, seconds int64) error {
	_, err := f.cri.StopContainer(ctx, &runtime.StopContainerRequest{ContainerId: id, Timeout: seconds})
	return err
}

// container returns the truth about the only container.
func (f *fixture) container() Container {
	f.Helper()
	containers := f.server.Snapshot().Containers
	if len(containers) != 1 {
		f.Fatalf("got %d containers, want 1", len(containers))
	}
	return containers[0]
}

func (f *fixture) wantJournal(want ...string) {
	f.Helper()
	var got []string
	for _, effect := range f.server.Journal() {
		got = append(got, effect.String())
	}
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		f.Errorf("journal:\ngot  %q\nwant %q", got, want)
	}
}

func (f *fixture) wantCode(err error, want codes.Code) {
	f.Helper()
	if got := status.Code(err); got != want {
		f.Errorf("got %s (%v), want %s", got, err, want)
	}
}
