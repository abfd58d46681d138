package containerd

import (
	"slices"
	"testing"

	"github.com/containerd/containerd/api/events"
	eventsapi "github.com/containerd/containerd/api/services/events/v1"
	"github.com/containerd/containerd/api/types"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// packed is an event as containerd sends it: its type has no address before it.
func packed(t *testing.T, event proto.Message) *anypb.Any {
	t.Helper()
	value, err := proto.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	return &anypb.Any{TypeUrl: string(event.ProtoReflect().Descriptor().FullName()), Value: value}
}

// announcer sends its events to each subscriber.
type announcer struct {
	eventsapi.UnimplementedEventsServer
	events  []*anypb.Any
	filters []string
}

func (a *announcer) Subscribe(request *eventsapi.SubscribeRequest, stream eventsapi.Events_SubscribeServer) error {
	a.filters = request.GetFilters()
	for _, event := range a.events {
		if err := stream.Send(&types.Envelope{Namespace: namespace, Event: event}); err != nil {
			return err
		}
	}
	return status.Error(codes.Unavailable, "containerd goes down")
}

func TestSubscribeReportsEachEventUntilTheStreamBreaks(t *testing.T) {
	server := &announcer{events: []*anypb.Any{
		packed(t, &events.TaskExit{ContainerID: "c1", ID: "e1", Pid: 4711}),
		packed(t, &events.TaskOOM{ContainerID: "c1"}),
		packed(t, &events.ContainerDelete{ID: "c1"}),
	}}
	client := serve(t, func(r grpc.ServiceRegistrar) { eventsapi.RegisterEventsServer(r, server) })
	next, err := client.Subscribe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []Event{
		{What: Exited, Container: "c1", Process: "e1"},
		{What: OutOfMemory, Container: "c1"},
		{What: Deleted, Container: "c1"},
	} {
		if got, err := next(); got != want || err != nil {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}
	if _, err := next(); status.Code(err) != codes.Unavailable {
		t.Errorf("got %v at the end of the stream, want the server's error", err)
	}
	if want := `namespace=="k8s.io",topic=="/tasks/exit"`; len(server.filters) != 3 || !slices.Contains(server.filters, want) {
		t.Errorf("got the filters %q, want three with %q among them", server.filters, want)
	}
}

func TestEventThatCannotBeReadIsAnError(t *testing.T) {
	exit := packed(t, &events.TaskExit{ContainerID: "c1", ID: "c1"})
	for name, event := range map[string]*anypb.Any{
		"cut off":           {TypeUrl: exit.TypeUrl, Value: exit.Value[:len(exit.Value)-1]},
		"of no known type":  {TypeUrl: "containerd.events.Unheard", Value: exit.Value},
		"not subscribed to": packed(t, &events.TaskPaused{ContainerID: "c1"}),
		"missing":           nil,
	} {
		if got, err := eventOf(event); err == nil {
			t.Errorf("%s: got %+v, want an error", name, got)
		}
	}
}
