package client

import (
	"bytes"
	"context"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	nodev1 "nodal/api/gen/node/v1"
)

// fakeNode is the other end of the verbs.
type fakeNode struct {
	nodev1.UnimplementedPodsServiceServer
	nodev1.UnimplementedObjectsServiceServer
	nodev1.UnimplementedEventsServiceServer
	nodev1.UnimplementedManifestsServiceServer
	nodev1.UnimplementedImagesServiceServer
	socket string

	mu      sync.Mutex
	pods    []*nodev1.Pod
	objects []*nodev1.Object
	images  []*nodev1.Image
	events  []*nodev1.Event
	planned []*nodev1.Outcome
	values  bool // the caller may have values of Secrets
	still   bool // a watch of pods shows no change, and ends with the caller's patience if it knows of it
	asked   []string
}

func newFakeNode(t *testing.T) *fakeNode {
	t.Helper()
	n := &fakeNode{socket: filepath.Join(t.TempDir(), "node.sock")}
	listener, err := net.Listen("unix", n.socket)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	nodev1.RegisterPodsServiceServer(server, n)
	nodev1.RegisterObjectsServiceServer(server, n)
	nodev1.RegisterEventsServiceServer(server, n)
	nodev1.RegisterManifestsServiceServer(server, n)
	nodev1.RegisterImagesServiceServer(server, n)
	go server.Serve(listener)
	t.Cleanup(server.Stop)
	return n
}

// run runs a verb against the fake node.
func (n *fakeNode) run(t *testing.T, args ...string) (out, failed string, code int) {
	t.Helper()
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	return runVerb(append([]string{args[0], "--socket", n.socket}, args[1:]...)...)
}

func runVerb(args ...string) (out, failed string, code int) {
	var stdout, stderr bytes.Buffer
	code, _ = Run(Verbs(), args, Console{strings.NewReader(""), &stdout, &stderr})
	return stdout.String(), stderr.String(), code
}

func (n *fakeNode) ListPods(_ context.Context, r *nodev1.ListPodsRequest) (*nodev1.ListPodsResponse, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked = append(n.asked, "list "+r.GetNamespace()+" "+r.GetLabelSelector())
	return &nodev1.ListPodsResponse{Pods: n.pods}, nil
}

func (n *fakeNode) GetPod(_ context.Context, r *nodev1.GetPodRequest) (*nodev1.GetPodResponse, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range n.pods {
		if p.GetNamespace() == r.GetNamespace() && p.GetName() == r.GetName() {
			return &nodev1.GetPodResponse{Pod: p}, nil
		}
	}
	return nil, status.Errorf(codes.NotFound, "pod %s/%s: not found", r.GetNamespace(), r.GetName())
}

func (n *fakeNode) WatchPods(_ *nodev1.WatchPodsRequest, stream grpc.ServerStreamingServer[nodev1.WatchPodsResponse]) error {
	for _, p := range n.pods {
		if err := stream.Send(&nodev1.WatchPodsResponse{Type: nodev1.WatchType_WATCH_TYPE_ADDED, Pod: p}); err != nil {
			return err
		}
	}
	if err := stream.Send(&nodev1.WatchPodsResponse{Type: nodev1.WatchType_WATCH_TYPE_SYNCED}); err != nil {
		return err
	}
	if n.still {
		if deadline, has := stream.Context().Deadline(); has {
			time.Sleep(time.Until(deadline) - 20*time.Millisecond)
			return status.Error(codes.Canceled, "the node's clock is ahead")
		}
		<-stream.Context().Done()
		return status.FromContextError(stream.Context().Err()).Err()
	}
	return stream.Send(&nodev1.WatchPodsResponse{Type: nodev1.WatchType_WATCH_TYPE_DELETED, Pod: n.pods[0]})
}

func (n *fakeNode) ListObjects(_ context.Context, r *nodev1.ListObjectsRequest) (*nodev1.ListObjectsResponse, error) {
	if r.GetValues() && !n.values {
		return nil, status.Error(codes.PermissionDenied, `"viewer" may not read values`)
	}
	reply := &nodev1.ListObjectsResponse{}
	for _, o := range n.objects {
		if o.GetKind() == r.GetKind() {
			if o = proto.CloneOf(o); !r.GetValues() && r.GetKind() == "Secret" {
				delete(o.GetObject().GetFields(), "data")
			}
			reply.Objects = append(reply.Objects, o)
		}
	}
	return reply, nil
}

func (n *fakeNode) GetObject(ctx context.Context, r *nodev1.GetObjectRequest) (*nodev1.GetObjectResponse, error) {
	all, err := n.ListObjects(ctx, &nodev1.ListObjectsRequest{Kind: r.GetKind()})
	if err != nil {
		return nil, err
	}
	for _, o := range all.GetObjects() {
		if o.GetName() == r.GetName() && o.GetNamespace() == r.GetNamespace() {
			return &nodev1.GetObjectResponse{Object: o}, nil
		}
	}
	return nil, status.Errorf(codes.NotFound, "%s %s: not found", r.GetKind(), r.GetName())
}

func (n *fakeNode) ListEvents(context.Context, *nodev1.ListEventsRequest) (*nodev1.ListEventsResponse, error) {
	return &nodev1.ListEventsResponse{Events: n.events}, nil
}

func (n *fakeNode) ListImages(context.Context, *nodev1.ListImagesRequest) (*nodev1.ListImagesResponse, error) {
	return &nodev1.ListImagesResponse{Images: n.images}, nil
}

// object makes the JSON of a Kubernetes object.
func object(t *testing.T, fields map[string]any) *structpb.Struct {
	t.Helper()
	made, err := structpb.NewStruct(fields)
	if err != nil {
		t.Fatal(err)
	}
	return made
}
