package containerd

import (
	"context"
	"fmt"

	"github.com/containerd/containerd/api/events"
	eventsapi "github.com/containerd/containerd/api/services/events/v1"
	"google.golang.org/protobuf/types/known/anypb"
)

// Event is a change of a container or of a sandbox, which containerd keeps as containers too.
type Event struct {
	What      What
	Container string
	Process   string // of an exit: the container's own process has the container's id
}

// What says what has happened to a container.
type What string

// The changes that Subscribe reports, by containerd's names of their topics.
const (
	Exited      What = "/tasks/exit"
	OutOfMemory What = "/tasks/oom"
	Deleted     What = "/containers/delete"
)

// Subscribe asks for events. The function that it returns waits for the next one, and fails when the stream breaks
// or ctx ends.
func (c *Client) Subscribe(ctx context.Context) (next func() (Event, error), err error) {
	request := &eventsapi.SubscribeRequest{}
	for _, topic := range []What{Exited, OutOfMemory, Deleted} {
		request.Filters = append(request.Filters, fmt.Sprintf("namespace==%q,topic==%q", namespace, topic))
	}
	stream, err := c.events.Subscribe(ctx, request)
	if err != nil {
		return nil, err
	}
	return func() (Event, error) {
		envelope, err := stream.Recv()
		if err != nil {
			return Event{}, err
		}
		return eventOf(envelope.GetEvent())
	}, nil
}

func eventOf(packed *anypb.Any) (Event, error) {
	event, err := packed.UnmarshalNew()
	if err != nil {
		return Event{}, fmt.Errorf("read event of containerd: %w", err)
	}
	switch e := event.(type) {
	case *events.TaskExit:
		return Event{What: Exited, Container: e.GetContainerID(), Process: e.GetID()}, nil
	case *events.TaskOOM:
		return Event{What: OutOfMemory, Container: e.GetContainerID()}, nil
	case *events.ContainerDelete:
		return Event{What: Deleted, Container: e.GetID()}, nil
	}
	return Event{}, fmt.Errorf("read event of containerd: nothing subscribes to a %s", packed.GetTypeUrl())
}
