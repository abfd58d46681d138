package containerd

import (
	"context"

	contentapi "github.com/containerd/containerd/api/services/content/v1"
	eventsapi "github.com/containerd/containerd/api/services/events/v1"
	streamingapi "github.com/containerd/containerd/api/services/streaming/v1"
	tasksapi "github.com/containerd/containerd/api/services/tasks/v1"
	transferapi "github.com/containerd/containerd/api/services/transfer/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// namespace holds everything that containerd's CRI makes.
const namespace = "k8s.io"

// Client calls containerd's own services. Its methods may be called from any goroutine.
type Client struct {
	events   eventsapi.EventsClient
	tasks    tasksapi.TasksClient
	content  contentapi.ContentClient
	transfer transferapi.TransferClient
	streams  streamingapi.StreamingClient
}

// New makes a Client over a connection that the caller keeps and closes.
func New(conn grpc.ClientConnInterface) *Client {
	conn = namespaced{conn}
	return &Client{
		events:   eventsapi.NewEventsClient(conn),
		tasks:    tasksapi.NewTasksClient(conn),
		content:  contentapi.NewContentClient(conn),
		transfer: transferapi.NewTransferClient(conn),
		streams:  streamingapi.NewStreamingClient(conn),
	}
}

// namespaced adds the namespace to every call, which containerd's services refuse without.
type namespaced struct{ conn grpc.ClientConnInterface }

func (n namespaced) Invoke(ctx context.Context, method string, request, reply any, opts ...grpc.CallOption) error {
	return n.conn.Invoke(inNamespace(ctx), method, request, reply, opts...)
}

func (n namespaced) NewStream(
	ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	return n.conn.NewStream(inNamespace(ctx), desc, method, opts...)
}

func inNamespace(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "containerd-namespace", namespace)
}
