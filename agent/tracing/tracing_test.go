package tracing

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"

	"nodal/agent/config"
	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
)

// inbox is a collector that keeps spans by their names.
type inbox struct {
	collector.UnimplementedTraceServiceServer
	mu    sync.Mutex
	spans map[string][]*tracepb.Span
}

func (i *inbox) Export(
	_ context.Context, r *collector.ExportTraceServiceRequest,
) (*collector.ExportTraceServiceResponse, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, resource := range r.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				i.spans[span.GetName()] = append(i.spans[span.GetName()], span)
			}
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

// collect serves a collector until the test ends.
func collect(t *testing.T) (*inbox, string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	i, s := &inbox{spans: map[string][]*tracepb.Span{}}, grpc.NewServer()
	collector.RegisterTraceServiceServer(s, i)
	go s.Serve(listener)
	t.Cleanup(s.Stop)
	return i, listener.Addr().String()
}

func TestNothingIsCalledWithoutACollector(t *testing.T) {
	hooks, err := New(nil, "here", "v1", slog.New(slog.DiscardHandler))
	if err != nil || hooks.Steps != nil || hooks.Calls != nil || hooks.Requests != nil {
		t.Errorf("got %+v, %v, want no hooks", hooks, err)
	}
	if err := hooks.Run(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestStartOfAPodIsTracedOnceAndNamesItsRequest(t *testing.T) {
	got, endpoint := collect(t)
	settings := &config.Tracing{Endpoint: endpoint, PerMillion: 1e6}
	hooks, err := New(settings, "here", "v1", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	web := &corev1.Pod{}
	web.Namespace, web.Name, web.UID = "default", "web", "0b1c2d3e-0000-4000-8000-000000000001"
	pod := &node.Pod{Object: web, Accepted: time.Now()}

	_, answered := hooks.Requests(t.Context(), "Apply", "")
	answered(&nodev1.ApplyResponse{Outcomes: []*nodev1.Outcome{
		{Result: nodev1.Result_RESULT_CREATED, Uid: string(web.UID)},
	}}, nil)
	ctx, stepped := hooks.Steps.Step(t.Context(), pod, &node.Observed{}, node.RunSandbox{})
	_, called := hooks.Calls(ctx, "/runtime.v1.RuntimeService/RunPodSandbox")
	called(nil)
	stepped(nil)
	hooks.Steps.Ready(pod)
	hooks.Steps.Ready(pod)
	older := &node.Pod{Object: web.DeepCopy(), Accepted: pod.Accepted.Add(-time.Hour)}
	older.Object.UID = "0b1c2d3e-0000-4000-8000-000000000002"
	hooks.Steps.Ready(older)

	ended, cancel := context.WithCancel(t.Context())
	cancel() // Run sends what is there before it ends
	if err := hooks.Run(ended); err != nil {
		t.Fatal(err)
	}
	got.mu.Lock()
	defer got.mu.Unlock()
	for _, name := range []string{"Apply", "RunSandbox", "runtime.v1.RuntimeService/RunPodSandbox", "StartPod"} {
		if len(got.spans[name]) != 1 {
			t.Fatalf("got %d spans %s, want 1", len(got.spans[name]), name)
		}
	}
	request, step, whole := got.spans["Apply"][0], got.spans["RunSandbox"][0], got.spans["StartPod"][0]
	call := got.spans["runtime.v1.RuntimeService/RunPodSandbox"][0]
	if links := whole.GetLinks(); len(links) != 1 || string(links[0].GetSpanId()) != string(request.GetSpanId()) {
		t.Errorf("the pod's span is linked to %v, want its request %x", links, request.GetSpanId())
	}
	if string(call.GetParentSpanId()) != string(step.GetSpanId()) {
		t.Errorf("the call's parent is %x, want the step %x", call.GetParentSpanId(), step.GetSpanId())
	}
}
