package cri

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/host/cri/spec"
	"nodal/node"
)

// resize tells the runtime the limits of a pod as a whole. A runtime of an older CRI does not know the call: it is asked
// once, and not again until the agent's next start.
func (s sandboxes) resize(ctx context.Context, pod *node.Pod, a node.ResizeSandbox) error {
	if s.conn.noResize.Load() {
		return nil
	}
	ctx, cancel := s.conn.request(ctx)
	defer cancel()
	overhead, rest := spec.SandboxResources(pod.Object, a.Limits)
	_, err := s.conn.runtime.UpdatePodSandboxResources(ctx, &runtimeapi.UpdatePodSandboxResourcesRequest{
		PodSandboxId: a.ID, Overhead: overhead, Resources: rest,
	})
	if status.Code(err) == codes.Unimplemented {
		s.conn.noResize.Store(true)
		return nil
	}
	if err != nil {
		return judge(err, reasonResizeSandbox, "tell the runtime the limits of sandbox "+a.ID)
	}
	return nil
}
