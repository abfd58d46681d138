package client

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	nodev1 "nodal/api/gen/node/v1"
)

// eventKind is the events. They have no name of their own: the one that get shows is that of their pod.
func eventKind() kind {
	return kind{
		name: "events", aliases: []string{"event", "ev"}, namespaced: true, unlabelled: true, heads: []string{"AGE", "TYPE", "REASON", "COUNT", "MESSAGE"},
		list: func(ctx context.Context, s *session, ask question) ([]item, error) {
			return s.listEvents(ctx, ask.namespace, "")
		},
		get: func(context.Context, *session, question, string) (item, error) {
			return item{}, status.Error(codes.InvalidArgument, "events have no names; kubelet events POD shows those of a pod")
		},
		watch: func(ctx context.Context, s *session, ask question, each func(string, item) error) error {
			return s.watchEvents(ctx, ask.namespace, "", each)
		},
	}
}

func (s *session) listEvents(ctx context.Context, namespace, pod string) ([]item, error) {
	client, err := clientOf(s, nodev1.NewEventsServiceClient)
	if err != nil {
		return nil, err
	}
	reply, err := client.ListEvents(ctx, &nodev1.ListEventsRequest{Namespace: namespace, Name: pod})
	var items []item
	for _, e := range reply.GetEvents() {
		items = append(items, eventItem(e))
	}
	return items, err
}

func (s *session) watchEvents(ctx context.Context, namespace, pod string, each func(string, item) error) error {
	client, err := clientOf(s, nodev1.NewEventsServiceClient)
	if err != nil {
		return err
	}
	change := "KEPT"
	stream, err := client.WatchEvents(ctx, &nodev1.WatchEventsRequest{Namespace: namespace, Name: pod})
	return follow(stream, err, func(m *nodev1.WatchEventsResponse) error {
		if m.GetEvent() == nil {
			change = "NEW"
			return each(synced, item{})
		}
		return each(change, eventItem(m.GetEvent()))
	})
}

func eventItem(e *nodev1.Event) item {
	message := e.GetMessage()
	if e.GetContainer() != "" && !strings.Contains(message, e.GetContainer()) {
		message = e.GetContainer() + ": " + message
	}
	kind := "Normal"
	if e.GetType() == nodev1.EventType_EVENT_TYPE_WARNING {
		kind = "Warning"
	}
	return item{
		kind: "event", namespace: e.GetNamespace(), name: cmp.Or(e.GetName(), "node"), object: asMap(e),
		cells: []string{age(e.GetTime()), kind, e.GetReason(), fmt.Sprint(max(1, e.GetCount())), message},
	}
}

func join(all []string) string { return orNone(strings.Join(all, ",")) }
