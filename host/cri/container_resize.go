package cri

import (
	"context"
	"fmt"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/node"
)

const reasonResize = "ResizeContainerError"

// resize gives a running container other limits.
func (c containers) resize(ctx context.Context, a node.ResizeContainer) error {
	ctx, cancel := c.conn.request(ctx)
	defer cancel()
	if err := c.checkMemory(ctx, a); err != nil {
		return err
	}
	_, err := c.conn.runtime.UpdateContainerResources(ctx, &runtimeapi.UpdateContainerResourcesRequest{
		ContainerId: a.ID,
		Linux:       c.Node().Machine.Changed(a.Limits),
	})
	if err != nil {
		return judge(err, reasonResize, "resize container "+a.Container)
	}
	return nil
}

// checkMemory refuses a limit below the container's present use: some kernels would end the container at once.
func (c containers) checkMemory(ctx context.Context, a node.ResizeContainer) error {
	if a.Limits.Memory == 0 {
		return nil
	}
	reply, err := c.conn.runtime.ContainerStats(ctx, &runtimeapi.ContainerStatsRequest{ContainerId: a.ID})
	if err != nil {
		return judge(err, reasonResize, "ask how much memory container "+a.Container+" uses")
	}
	if used := int64(reply.GetStats().GetMemory().GetWorkingSetBytes().GetValue()); used > a.Limits.Memory {
		return failure(reasonResize, fmt.Errorf("container %s uses %d bytes of memory, more than the new limit of %d",
			a.Container, used, a.Limits.Memory))
	}
	return nil
}
