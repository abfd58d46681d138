package server

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/node/store"
	"nodal/server/auth"
	"nodal/server/wire"
)

// eventService serves the node's events. Timelines are in timeline.go.
type eventService struct {
	nodev1.UnimplementedEventsServiceServer
	store   *store.Store
	events  *store.Events
	stopped <-chan struct{}
}

var _ nodev1.EventsServiceServer = (*eventService)(nil)

// ListEvents returns the events that are still kept.
func (s *eventService) ListEvents(ctx context.Context, r *nodev1.ListEventsRequest) (*nodev1.ListEventsResponse, error) {
	match, err := eventsOf(ctx, r.GetNamespace(), r.GetName())
	if err != nil {
		return nil, err
	}
	events, revision, err := s.events.Since(0, match)
	if err != nil {
		return nil, err
	}
	answer := &nodev1.ListEventsResponse{Revision: revision}
	for i := range events {
		answer.Events = append(answer.Events, eventOf(&events[i]))
	}
	return answer, nil
}

// WatchEvents sends the kept events, a marker, and then each new event.
func (s *eventService) WatchEvents(
	r *nodev1.WatchEventsRequest, stream grpc.ServerStreamingServer[nodev1.WatchEventsResponse],
) error {
	match, err := eventsOf(stream.Context(), r.GetNamespace(), r.GetName())
	if err != nil {
		return err
	}
	at := r.GetSinceRevision()
	if at < 0 {
		return negativeRevision(at)
	}
	for synced := false; ; synced = true {
		changed := s.events.Changed()
		events, revision, err := s.events.Since(at, match)
		if err != nil {
			return err
		}
		for i := range events {
			e := eventOf(&events[i])
			if err := stream.Send(&nodev1.WatchEventsResponse{Revision: e.GetRevision(), Event: e}); err != nil {
				return err
			}
		}
		at = revision
		if !synced {
			if err := stream.Send(&nodev1.WatchEventsResponse{Revision: revision}); err != nil {
				return err
			}
		}
		select {
		case <-changed:
		case <-stream.Context().Done():
			return stream.Context().Err()
		case <-s.stopped:
			return wire.ErrStopping
		}
	}
}

// eventsOf chooses the events of a namespace or a pod among those that the caller sees.
func eventsOf(ctx context.Context, namespace, name string) (func(*node.Event) bool, error) {
	if name != "" && namespace == "" {
		return nil, fmt.Errorf("events of pod %q: a name needs its namespace: %w", name, node.ErrInvalid)
	}
	return func(e *node.Event) bool {
		return auth.Sees(ctx, e.Key.Namespace) && (namespace == "" || e.Key.Namespace == namespace) && (name == "" || e.Key.Name == name)
	}, nil
}

func eventOf(e *node.Event) *nodev1.Event {
	event := &nodev1.Event{
		Revision: e.Revision, Time: timestamppb.New(e.Time), FirstTime: timestamppb.New(e.First),
		Type: nodev1.EventType_EVENT_TYPE_NORMAL, Reason: e.Reason, Message: e.Message, Count: e.Count,
		Namespace: e.Key.Namespace, Name: e.Key.Name, Uid: string(e.UID), Container: e.Container,
	}
	if e.Warning {
		event.Type = nodev1.EventType_EVENT_TYPE_WARNING
	}
	if e.Took > 0 {
		event.Took = durationpb.New(e.Took)
	}
	return event
}
