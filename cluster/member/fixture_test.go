package member

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/cluster/retry"
	"nodal/node"
)

// apiServer answers as an API server would. An error is the network's.
type apiServer func(*http.Request) (code int, object any, err error)

func (s apiServer) RoundTrip(r *http.Request) (*http.Response, error) {
	code, object, err := s(r)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(object)
	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(string(text))), Request: r,
	}, err
}

func (s apiServer) dial(t *testing.T) *cluster {
	t.Helper()
	c, err := dial(&rest.Config{Host: "http://cluster", Transport: s})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// refused returns the status with which an API server refuses.
func refused(code int, reason metav1.StatusReason) metav1.Status {
	return metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: int32(code), Reason: reason,
	}
}

// stock stands for a node: its objects, and the calls that it got.
type stock struct {
	nodev1.NodeServiceClient
	nodev1.ManifestsServiceClient

	objects map[node.ObjectRef]*structpb.Struct
	mu      sync.Mutex // of told, and of objects that a test changes meanwhile
	told    []string

	revision int64
	looked   func() // called after each look at an object
}

func (h *stock) shelf() *shelf {
	return &shelf{node: h, manifests: h, objects: objectsOf{stock: h}}
}

// keep puts an object there that came from the cluster or from another client.
func (h *stock) keep(t *testing.T, ref node.ObjectRef, from string, spec map[string]any) {
	t.Helper()
	object, err := structpb.NewStruct(map[string]any{"metadata": map[string]any{"annotations": map[string]any{node.AnnotationFrom: from}}, "spec": spec})
	if err != nil {
		t.Fatal(err)
	}
	if h.objects == nil {
		h.objects = map[node.ObjectRef]*structpb.Struct{}
	}
	h.objects[ref] = object
}

func (h *stock) find(kind node.ObjectKind, namespace, name string) (*structpb.Struct, error) {
	if h.looked != nil {
		defer h.looked()
	}
	h.mu.Lock()
	object, ok := h.objects[node.ObjectRef{Kind: kind, Namespace: namespace, Name: name}]
	h.mu.Unlock()
	if ok {
		return object, nil
	}
	return nil, grpcstatus.Error(codes.NotFound, "it is not there")
}

func (h *stock) heard() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.told)
}

func (h *stock) GetNode(context.Context, *nodev1.GetNodeRequest, ...grpc.CallOption) (*nodev1.GetNodeResponse, error) {
	return &nodev1.GetNodeResponse{Revision: h.revision}, nil
}

// unchanged is the node's answer where a revision is given.
func (h *stock) unchanged(since *int64) error {
	if since != nil && *since < h.revision {
		return grpcstatus.Error(codes.Aborted, "changed meanwhile")
	}
	return nil
}

// objectsOf is the service of a stock's objects.
type objectsOf struct {
	nodev1.ObjectsServiceClient
	*stock
}

func (o objectsOf) GetObject(
	_ context.Context, r *nodev1.GetObjectRequest, _ ...grpc.CallOption,
) (*nodev1.GetObjectResponse, error) {
	object, err := o.find(node.ObjectKind(r.GetKind()), r.GetNamespace(), r.GetName())
	return &nodev1.GetObjectResponse{Object: &nodev1.Object{Object: object}}, err
}

func (h *stock) Apply(_ context.Context, r *nodev1.ApplyRequest, _ ...grpc.CallOption) (*nodev1.ApplyResponse, error) {
	if err := h.unchanged(r.UnchangedSince); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.told = append(h.told, "put "+namesIn(r.GetManifest()))
	return &nodev1.ApplyResponse{}, nil
}

func (h *stock) Delete(_ context.Context, r *nodev1.DeleteRequest, _ ...grpc.CallOption) (*nodev1.DeleteResponse, error) {
	if err := h.unchanged(r.UnchangedSince); err != nil {
		return nil, err
	}
	h.told = append(h.told, "remove "+namesIn(r.GetManifest()))
	return &nodev1.DeleteResponse{}, nil
}

// namesIn are the kinds and names in a List.
func namesIn(text string) string {
	var list struct {
		Items []metav1.PartialObjectMetadata
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return err.Error()
	}
	var names []string
	for _, item := range list.Items {
		names = append(names, item.Kind+" "+item.Name)
	}
	return strings.Join(names, ", ")
}

// stocked are the objects of a pod, all of them on the node.
func stocked(pod *corev1.Pod) *objects {
	o := &objects{used: map[node.ObjectRef]*usage{}}
	for ref := range o.uses(pod) {
		o.used[ref] = &usage{there: true}
	}
	return o
}

// newPods keeps pods in step that a test makes up.
func newPods(nodeName string, c *cluster, node nodev1.PodsServiceClient, o *objects, log *slog.Logger) *pods {
	return &pods{
		nodeName: nodeName, cluster: c, node: node, objects: o, log: log,
		subnets: &subnets{told: []string{"10.0.0.0/24"}},
		board:   ready{}, settled: ready{}.Heard(nil), queue: retry.NewQueue[types.NamespacedName](), entries: map[types.NamespacedName]*entry{},
	}
}
