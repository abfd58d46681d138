package containerd

import (
	"context"
	"fmt"
	"syscall"

	"github.com/containerd/containerd/api/events"
	eventsapi "github.com/containerd/containerd/api/services/events/v1"
	tasksapi "github.com/containerd/containerd/api/services/tasks/v1"
	"google.golang.org/protobuf/proto"
)

// Command is a process that was started in a running container.
type Command struct {
	ID  string // containerd's own, within the container
	Pid uint32
}

const commandStarted = "/tasks/exec-started"

// Commands asks for the commands that are started in a container from now on. The function that it returns waits for
// the next one, and fails when the stream breaks or ctx ends.
func (c *Client) Commands(ctx context.Context, container string) (next func() (Command, error), err error) {
	stream, err := c.events.Subscribe(ctx, &eventsapi.SubscribeRequest{
		Filters: []string{fmt.Sprintf("namespace==%q,topic==%q", namespace, commandStarted)},
	})
	if err != nil {
		return nil, err
	}
	return func() (Command, error) {
		for {
			envelope, err := stream.Recv()
			if err != nil {
				return Command{}, err
			}
			var started events.TaskExecStarted
			if err := proto.Unmarshal(envelope.GetEvent().GetValue(), &started); err != nil {
				return Command{}, fmt.Errorf("read event of containerd: %w", err)
			}
			if started.GetContainerID() == container {
				return Command{ID: started.GetExecID(), Pid: started.GetPid()}, nil
			}
		}
	}, nil
}

// Signal sends a signal to the process of a command. It succeeds if that has ended.
func (c *Client) Signal(ctx context.Context, container, command string, signal syscall.Signal) error {
	_, err := c.tasks.Kill(ctx, &tasksapi.KillRequest{ContainerID: container, ExecID: command, Signal: uint32(signal)})
	if missing(err) {
		return nil
	}
	return err
}
