package e2e

import (
	"encoding/json"
	"testing"

	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/emptypb"
	runtimev1 "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/test/claim"
)

// A start whose caller dies at the wrong moment leaves a task in containerd of which its
// CRI knows nothing, and which it cannot remove. The test makes one the short way.
func TestAPodWithATaskThatContainerdForgotCanGo(t *testing.T) {
	claim.Shows(t, "Restarts and faults", "a container that containerd can neither stop nor remove, since it has forgotten the container's task, keeps no pod from going")
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

// plant makes a container in a pod's sandbox that the agent has not asked for, and its
// task behind the back of CRI.
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
	mounts := n.containerd("containerd.services.snapshots.v1.Snapshots/Mounts", text(text(nil, 1, info.Snapshotter), 2, info.SnapshotKey))
	request := text(nil, 1, created.ContainerId)
	for len(mounts) > 0 { // in the answer they are field 1, in the request field 3
		_, _, n := protowire.ConsumeTag(mounts)
		mount, m := protowire.ConsumeBytes(mounts[n:])
		request, mounts = text(request, 3, string(mount)), mounts[n+m:]
	}
	n.containerd("containerd.services.tasks.v1.Tasks/Create", request)
	return created.ContainerId
}

func text(message []byte, field protowire.Number, value string) []byte {
	return protowire.AppendString(protowire.AppendTag(message, field, protowire.BytesType), value)
}

// containerd calls a service of containerd's that is none of CRI's.
func (n *node) containerd(method string, request []byte) (answer []byte) {
	n.t.Helper()
	ctx := metadata.AppendToOutgoingContext(n.t.Context(), "containerd-namespace", "k8s.io")
	var out, in emptypb.Empty // in which every field is an unknown one, and kept
	out.ProtoReflect().SetUnknown(request)
	if err := n.rt.Conn().Invoke(ctx, "/"+method, &out, &in); err != nil {
		n.t.Fatalf("%s: %v", method, err)
	}
	return in.ProtoReflect().GetUnknown()
}
