package images

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/host/cri"
	"nodal/host/podnet"
	"nodal/host/registry"
	"nodal/host/runtime"
	"nodal/host/runtime/embedded"
	"nodal/test/rig"
)

// TestAnImportedImageRunsOnTheNodesOwnRuntime runs a pod without any registry outside the node.
// Where the build embeds a runtime, the pause image comes from the build too.
func TestAnImportedImageRunsOnTheNodesOwnRuntime(t *testing.T) {
	rt := rig.Containerd(t) // for its images and its cgroup only
	root, err := os.MkdirTemp("/var/lib", "nodal-images-")
	if err != nil {
		t.Fatal(err)
	}
	store, err := registry.Open(registry.Config{Dir: root + "/images", Reserve: 1})
	if err != nil {
		t.Fatal(err)
	}
	pause := rt.Image("pause")
	if program := embedded.Pause(); program != nil {
		if pause, err = store.Seed(program); err != nil {
			t.Fatal(err)
		}
	}
	listener, err := registry.Listen(store)
	if err != nil {
		t.Fatal(err)
	}
	go listener.Serve(t.Context())
	if err := registry.WriteHosts(root+"/registries", runtime.RegistriesDir(root), listener.Mirror()); err != nil {
		t.Fatal(err)
	}
	archive, index, _ := embedded.Bundle()
	config := runtime.Config{RootDir: root, Archive: archive, Index: index, SandboxImage: pause, Log: slog.New(slog.DiscardHandler)}
	config.Network = podnet.New(podnet.Config{Places: podnet.Places(config.Places())})
	t.Cleanup(func() {
		if err := runtime.Clean(context.Background(), config); err != nil {
			t.Errorf("clean: %v", err)
		}
		if err := os.RemoveAll(root); err != nil {
			t.Error(err)
		}
	})
	own, err := runtime.Start(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { own.Close() })
	conn, err := cri.Dial(cri.Config{Endpoint: own.Endpoint()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })

	kept, err := store.Import(t.Context(), bytes.NewReader(busybox(t, rt)), registry.Options{Name: "registry.invalid/busybox:1"})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := cri.NewImages(conn).Pull(t.Context(), kept[0].Reference, nil); err != nil || got.ID != kept[0].ID {
		t.Fatalf("pull: got %s (error %v), want %s", got.ID, err, kept[0].ID)
	}
	runs(t, own.Endpoint(), rt.CgroupParent, kept[0].Reference)
}

// busybox returns the rig's busybox in the format of docker save.
func busybox(t *testing.T, rt *rig.Runtime) []byte {
	t.Helper()
	ref, err := name.ParseReference(rt.Image("busybox"), name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	image, err := remote.Image(ref)
	if err != nil {
		t.Fatal(err)
	}
	return saved(t, image, "busybox:1")
}

// runs checks that a container of an image runs and returns its exit code.
func runs(t *testing.T, endpoint, cgroup, image string) {
	t.Helper()
	conn, err := grpc.NewClient(endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	client, ctx := runtimeapi.NewRuntimeServiceClient(conn), t.Context()
	pod := &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{Name: "imported", Namespace: "default", Uid: "imported"},
		Linux:    &runtimeapi.LinuxPodSandboxConfig{CgroupParent: cgroup},
	}
	sandbox, err := client.RunPodSandbox(ctx, &runtimeapi.RunPodSandboxRequest{Config: pod})
	if err != nil {
		t.Fatalf("run sandbox: %v", err)
	}
	container, err := client.CreateContainer(ctx, &runtimeapi.CreateContainerRequest{
		PodSandboxId: sandbox.PodSandboxId, SandboxConfig: pod,
		Config: &runtimeapi.ContainerConfig{
			Metadata: &runtimeapi.ContainerMetadata{Name: "main"}, Image: &runtimeapi.ImageSpec{Image: image},
			Command: []string{"sh", "-c", "exit 42"}, Linux: &runtimeapi.LinuxContainerConfig{},
		},
	})
	if err != nil {
		t.Fatalf("create container: %v", err)
	}
	if _, err := client.StartContainer(ctx, &runtimeapi.StartContainerRequest{ContainerId: container.ContainerId}); err != nil {
		t.Fatalf("start container: %v", err)
	}
	deadline, tick := time.After(pullTimeout), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for {
		reply, err := client.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: container.ContainerId})
		if err != nil {
			t.Fatal(err)
		}
		if s := reply.GetStatus(); s.GetState() == runtimeapi.ContainerState_CONTAINER_EXITED {
			if s.GetExitCode() != 42 {
				t.Errorf("got exit code %d (%s), want 42", s.GetExitCode(), s.GetMessage())
			}
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("the container did not end")
		}
	}
}
