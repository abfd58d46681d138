package cri

import (
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// eventBacklog limits the events that wait for a slow subscriber. Further events are dropped:
// events are hints.
const eventBacklog = 1000

type broadcast struct {
	mu          sync.Mutex
	subscribers map[chan *runtime.ContainerEventResponse]struct{}
}

func newBroadcast() *broadcast {
	return &broadcast{subscribers: map[chan *runtime.ContainerEventResponse]struct{}{}}
}

func (b *broadcast) subscribe() (events chan *runtime.ContainerEventResponse, leave func()) {
	events = make(chan *runtime.ContainerEventResponse, eventBacklog)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.subscribers[events] = struct{}{}
	return events, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.subscribers, events)
	}
}

// idle reports whether no subscriber needs events.
func (b *broadcast) idle() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.subscribers) == 0
}

func (b *broadcast) send(event *runtime.ContainerEventResponse) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for events := range b.subscribers {
		select {
		case events <- event:
		default:
		}
	}
}

// GetContainerEvents streams all events from now on.
func (s *Server) GetContainerEvents(
	_ *runtime.GetEventsRequest, stream grpc.ServerStreamingServer[runtime.ContainerEventResponse],
) error {
	if s.config.Legacy {
		return status.Error(codes.Unimplemented, "unknown method GetContainerEvents for service runtime.v1.RuntimeService")
	}
	events, leave := s.events.subscribe()
	defer leave()
	// Once the client has the headers, it misses no event.
	if err := stream.SendHeader(nil); err != nil {
		return err
	}
	for {
		select {
		case <-stream.Context().Done():
			return status.FromContextError(stream.Context().Err()).Err()
		case event := <-events:
			if err := stream.Send(event); err != nil {
				return err
			}
		}
	}
}

// publishSandbox sends an event about a sandbox under the sandbox's own ID, as if it were a
// container.
func (s *Server) publishSandbox(b *sandbox, kind runtime.ContainerEventType) {
	s.publish(b, b.id, kind)
}

func (s *Server) publishContainer(c *container, kind runtime.ContainerEventType) {
	s.publish(c.sandbox, c.id, kind)
}

func (s *Server) publish(b *sandbox, id string, kind runtime.ContainerEventType) {
	if s.events.idle() {
		return
	}
	event := &runtime.ContainerEventResponse{
		ContainerId: id, ContainerEventType: kind, CreatedAt: nanos(time.Now()), PodSandboxStatus: b.status(),
	}
	for _, c := range b.containers.all() {
		event.ContainersStatuses = append(event.ContainersStatuses, s.containerStatus(c))
	}
	s.events.send(event)
}
