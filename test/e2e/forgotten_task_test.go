package e2e

import (
	"encoding/json"
	"testing"

	"github.com/containerd/containerd/api/services/snapshots/v1"
	"github.com/containerd/containerd/api/services/tasks/v1"
	"google.golang.org/grpc/metadata"
	runtimev1 "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/test/claim"
)

// If the caller of a start dies at the wrong moment, containerd has a task that its CRI does not
// know and cannot remove. The test makes such a task directly.
func TestAPodWithATaskThatContainerdForgotCanGo(t *testing.T) {
	claim.Shows(t, "Restarts and faults", "a container that containerd can neither stop nor remove, because it has forgotten the task, does not block the deletion of its pod")
	n := start(t)
	n.apply(shell("lossy", "exec sleep 1000").yaml())
	n.waitRunning("lossy")
	id := n.plant("lossy")
	if _, err := n.rt.CRI().RemoveContainer(t.Context(), &runtimev1.RemoveContainerRequest{ContainerId: id}); err == nil {
		t.Fatal("the runtime removes the container by itself, so this test shows nothing")
	}
	n.deletePod("lossy", "")
	n.waitGone("lossy")
	if left := n.sandboxes("lossy"); left != 0 {
		t.Errorf("%d sandboxes are left", left)
	}
}

// plant creates a container in a pod's sandbox without the agent, and starts its task behind CRI's
// back.
func (n *node) plant(pod string) (id string) {
	n.t.Helper()
	ctx, cri := n.t.Context(), n.rt.CRI()
	sandboxes, err := cri.ListPodSandbox(ctx, &runtimev1.ListPodSandboxRequest{})
	if err != nil || len(sandboxes.Items) != 1 {
		n.t.Fatalf("the runtime has the sandboxes %v (%v), want that of pod %s", sandboxes, err, pod)
	}
	sandbox := sandboxes.Items[0]
	created, err := cri.CreateContainer(ctx, &runtimev1.CreateContainerRequest{
		PodSandboxId: sandbox.Id,
		Config: &runtimev1.ContainerConfig{
			Metadata: &runtimev1.ContainerMetadata{Name: "planted"},
			Image:    &runtimev1.ImageSpec{Image: "nodal.test/busybox:1"},
			Command:  []string{"sleep", "1000"},
			Linux:    &runtimev1.LinuxContainerConfig{},
		},
		SandboxConfig: &runtimev1.PodSandboxConfig{Metadata: sandbox.Metadata, Linux: &runtimev1.LinuxPodSandboxConfig{CgroupParent: n.rt.CgroupParent}},
	})
	if err != nil {
		n.t.Fatal(err)
	}
	status, err := cri.ContainerStatus(ctx, &runtimev1.ContainerStatusRequest{ContainerId: created.ContainerId, Verbose: true})
	if err != nil {
		n.t.Fatal(err)
	}
	var info struct{ SnapshotKey, Snapshotter string }
	if err := json.Unmarshal([]byte(status.Info["info"]), &info); err != nil {
		n.t.Fatal(err)
	}
	behind := metadata.AppendToOutgoingContext(ctx, "containerd-namespace", "k8s.io")
	rootfs, err := snapshots.NewSnapshotsClient(n.rt.Conn()).Mounts(behind,
		&snapshots.MountsRequest{Snapshotter: info.Snapshotter, Key: info.SnapshotKey})
	if err != nil {
		n.t.Fatal(err)
	}
	task := &tasks.CreateTaskRequest{ContainerID: created.ContainerId, Rootfs: rootfs.GetMounts()}
	if _, err := tasks.NewTasksClient(n.rt.Conn()).Create(behind, task); err != nil {
		n.t.Fatal(err)
	}
	return created.ContainerId
}
