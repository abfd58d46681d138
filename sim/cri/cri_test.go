package cri

import (
	"context"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
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
		listener := bufconn.Listen(1 << 16)
		served := make(chan error, 1)
		go func() { served <- server.Serve(listener) }()
		conn, err := grpc.NewClient("passthrough:sim",
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }),
			grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatalf("connect: %v", err)
		}
		test(&fixture{T: t, server: server, conn: conn, cri: runtime.NewRuntimeServiceClient(conn)})
		if err := conn.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		server.Stop()
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
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

// container is the truth about the only container.
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

func TestContainerEndsAsItsProgramSays(t *testing.T) {
	for _, c := range []struct {
		name   string
		words  []string
		after  time.Duration
		code   int32
		reason string
	}{
		{"at once", []string{"exit", "0"}, 0, 0, "Completed"},
		{"after a while with a failure", []string{"exit", "3", "after", "2s"}, 2 * time.Second, 3, "Error"},
		{"for want of memory", []string{"oom", "after", "1m"}, time.Minute, 137, "OOMKilled"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, Config{}, func(f *fixture) {
				f.start(f.sandbox("u1"), c.words...)
				time.Sleep(c.after + time.Millisecond)
				got := f.container()
				if got.Running() || got.ExitCode != c.code || got.Reason != c.reason {
					f.Errorf("got running %t, code %d, reason %q, want ended, %d, %q", got.Running(), got.ExitCode, got.Reason, c.code, c.reason)
				}
				if ran := got.FinishedAt.Sub(got.StartedAt); ran != c.after {
					f.Errorf("ran for %s, want %s", ran, c.after)
				}
			})
		})
	}
}

func TestStopHonoursTheGracePeriod(t *testing.T) {
	const started = "container-started default/web/u1 main #0"
	for _, c := range []struct {
		name  string
		words []string
		took  time.Duration
		want  []string
	}{
		{"a program that obeys", []string{"run"}, 0, []string{
			"container-signaled default/web/u1 main #0 TERM grace=30s",
			"container-exited default/web/u1 main #0 code=143"}},
		{"a slow program", []string{"slow-term", "10s"}, 10 * time.Second, []string{
			"container-signaled default/web/u1 main #0 TERM grace=30s",
			"container-exited default/web/u1 main #0 code=143"}},
		{"a deaf program", []string{"ignore-term"}, 30 * time.Second, []string{
			"container-signaled default/web/u1 main #0 TERM grace=30s",
			"container-signaled default/web/u1 main #0 KILL grace=30s",
			"container-exited default/web/u1 main #0 code=137"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, Config{}, func(f *fixture) {
				id := f.start(f.sandbox("u1"), c.words...)
				begin := time.Now()
				if err := f.stop(f.Context(), id, 30); err != nil {
					f.Errorf("stop: %v", err)
				}
				if took := time.Since(begin); took != c.took {
					f.Errorf("the stop took %s, want %s", took, c.took)
				}
				f.wantJournal(append([]string{
					"sandbox-started default/web/u1 #0", "container-created default/web/u1 main #0", started,
				}, c.want...)...)
			})
		})
	}
}

func TestRuntimeRestartKeepsWhatRuns(t *testing.T) {
	inBubble(t, Config{}, func(f *fixture) {
		f.start(f.sandbox("u1"), "run")
		f.server.Crash()
		synctest.Wait()
		_, err := f.cri.Version(f.Context(), &runtime.VersionRequest{})
		f.wantCode(err, codes.Unavailable)

		f.server.Recover()
		_, err = f.cri.Version(f.Context(), &runtime.VersionRequest{}, grpc.WaitForReady(true))
		f.wantCode(err, codes.OK)
		if !f.container().Running() {
			f.Error("the container ended with the runtime, want it running")
		}
	})
}

func TestEventsTellEachStep(t *testing.T) {
	inBubble(t, Config{}, func(f *fixture) {
		ctx, cancel := context.WithCancel(f.Context())
		defer cancel()
		stream, err := f.cri.GetContainerEvents(ctx, &runtime.GetEventsRequest{})
		if err != nil {
			f.Fatal(err)
		}
		if _, err := stream.Header(); err != nil {
			f.Fatal(err)
		}
		sandbox := f.sandbox("u1")
		container := f.start(sandbox, "exit", "3")
		for _, want := range []struct {
			id   string
			kind runtime.ContainerEventType
		}{
			{sandbox, runtime.ContainerEventType_CONTAINER_CREATED_EVENT},
			{sandbox, runtime.ContainerEventType_CONTAINER_STARTED_EVENT},
			{container, runtime.ContainerEventType_CONTAINER_CREATED_EVENT},
			{container, runtime.ContainerEventType_CONTAINER_STARTED_EVENT},
			{container, runtime.ContainerEventType_CONTAINER_STOPPED_EVENT},
		} {
			got, err := stream.Recv()
			if err != nil {
				f.Fatal(err)
			}
			if got.GetContainerId() != want.id || got.GetContainerEventType() != want.kind {
				f.Errorf("got %s of %s, want %s of %s", got.GetContainerEventType(), got.GetContainerId(), want.kind, want.id)
			}
		}
	})
}

func TestLegacyRuntimeHasNoEventsAndNoConfig(t *testing.T) {
	inBubble(t, Config{Legacy: true}, func(f *fixture) {
		stream, err := f.cri.GetContainerEvents(f.Context(), &runtime.GetEventsRequest{})
		if err != nil {
			f.Fatal(err)
		}
		_, err = stream.Recv()
		f.wantCode(err, codes.Unimplemented)
		_, err = f.cri.RuntimeConfig(f.Context(), &runtime.RuntimeConfigRequest{})
		f.wantCode(err, codes.Unimplemented)
	})
}

func TestWithoutNetworkOnlyHostNetworkPodsStart(t *testing.T) {
	inBubble(t, Config{}, func(f *fixture) {
		f.server.SetReady(true, false)
		if _, err := f.cri.RunPodSandbox(f.Context(), sandboxRequest("u1")); err == nil {
			f.Error("a pod with its own network started, want an error")
		}
		request := sandboxRequest("u1") // the same name: the failure must not keep it
		request.Config.Linux = &runtime.LinuxPodSandboxConfig{SecurityContext: &runtime.LinuxSandboxSecurityContext{
			NamespaceOptions: &runtime.NamespaceOption{Network: runtime.NamespaceMode_NODE},
		}}
		if _, err := f.cri.RunPodSandbox(f.Context(), request); err != nil {
			f.Errorf("run a pod on the host's network: %v", err)
		}
	})
}

func TestProgramWithoutSenseDoesNotStart(t *testing.T) {
	for _, words := range [][]string{{"exit"}, {"exit", "many"}, {"exit", "0", "after"}, {"slow-term", "x"}, {"run", "faster"}} {
		if _, err := parseProgram(words); err == nil {
			t.Errorf("parse %q: got no error, want one", words)
		}
	}
	if _, err := parseProgram([]string{"nginx", "-g", "daemon off;"}); err != nil {
		t.Errorf("an image's own program: %v", err)
	}
}

func TestFullReference(t *testing.T) {
	for ref, want := range map[string]string{
		"app":                  "docker.io/library/app:latest",
		"app:1":                "docker.io/library/app:1",
		"team/app:1":           "docker.io/team/app:1",
		"localhost/app":        "localhost/app:latest",
		"127.0.0.1:5000/a/b:2": "127.0.0.1:5000/a/b:2",
		"registry.example/app": "registry.example/app:latest",
	} {
		if got := fullReference(ref); got != want {
			t.Errorf("%s: got %s, want %s", ref, got, want)
		}
	}
}
