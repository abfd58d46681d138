package cri

import (
	"context"
	"fmt"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/host/cri/spec"
	"nodal/node"
)

const reasonResize = "ResizeContainerError"

// resizeContainer gives a running container other limits.
func (r *Runtime) resizeContainer(ctx context.Context, a node.ResizeContainer) error {
	ctx, cancel := r.request(ctx)
	defer cancel()
	if err := r.checkMemory(ctx, a); err != nil {
		return err
	}
	_, err := r.runtime.UpdateContainerResources(ctx, &runtimeapi.UpdateContainerResourcesRequest{
		ContainerId: a.ID,
		Linux:       spec.Resources(a.Limits),
	})
	if err != nil {
		return judge(err, reasonResize, "resize container "+a.Container)
	}
	return nil
}

// checkMemory refuses a limit that is less than what the container uses: some
// kernels would end it at once.
func (r *Runtime) checkMemory(ctx context.Context, a node.ResizeContainer) error {
	if a.Limits.Memory == 0 {
		return nil
	}
	reply, err := r.runtime.ContainerStats(ctx, &runtimeapi.ContainerStatsRequest{ContainerId: a.ID})
	if err != nil {
		return judge(err, reasonResize, "ask how much memory container "+a.Container+" uses")
	}
	if used := int64(reply.GetStats().GetMemory().GetWorkingSetBytes().GetValue()); used > a.Limits.Memory {
		return failure(reasonResize, fmt.Errorf("container %s uses %d bytes of memory, more than the new limit of %d",
			a.Container, used, a.Limits.Memory))
	}
	return nil
}
