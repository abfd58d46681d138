package containerd

import (
	"context"
	"syscall"

	tasksapi "github.com/containerd/containerd/api/services/tasks/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// End kills the processes of a container's task and has containerd drop the task. It succeeds where there is none.
func (c *Client) End(ctx context.Context, container string) error {
	kill := &tasksapi.KillRequest{ContainerID: container, Signal: uint32(syscall.SIGKILL), All: true}
	if _, err := c.tasks.Kill(ctx, kill); err != nil && !missing(err) {
		return err
	}
	if _, err := c.tasks.Wait(ctx, &tasksapi.WaitRequest{ContainerID: container}); err != nil && !missing(err) {
		return err
	}
	if _, err := c.tasks.Delete(ctx, &tasksapi.DeleteTaskRequest{ContainerID: container}); err != nil && !missing(err) {
		return err
	}
	return nil
}

func missing(err error) bool { return status.Code(err) == codes.NotFound }
