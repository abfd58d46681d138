package trace

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"k8s.io/apimachinery/pkg/util/uuid"
)

// inbox is a collector that keeps the spans that it receives.
type inbox struct {
	collector.UnimplementedTraceServiceServer
	got chan *collector.ExportTraceServiceRequest
}

func (i *inbox) Export(_ context.Context, r *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	i.got <- r
	return &collector.ExportTraceServiceResponse{}, nil
}

// collect serves an inbox on loopback.
func collect(t *testing.T) (*inbox, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	i, server := &inbox{got: make(chan *collector.ExportTraceServiceRequest, 64)}, grpc.NewServer()
	collector.RegisterTraceServiceServer(server, i)
	go server.Serve(l)
	t.Cleanup(server.Stop)
	return i, l.Addr().String()
}

func newTracer(t *testing.T, c Config) *Tracer {
	t.Helper()
	c.Log = slog.New(slog.DiscardHandler)
	tracer, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tracer.Close() })
	return tracer
}

// flush sends what is queued.
func flush(tracer *Tracer) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	tracer.Run(ctx)
}

const podUID = "0102030a-0b0c-4d0e-8f10-111213141516"

func TestACollectorReceivesTheSpans(t *testing.T) {
	got, endpoint := collect(t)
	tracer := newTracer(t, Config{Endpoint: endpoint, PerMillion: 1e6, Node: "node-a", Version: "v1"})
	pod := tracer.Pod(podUID)
	ctx, step := tracer.Start(WithParent(t.Context(), pod), "RunSandbox", Internal, slog.String("k8s.pod.name", "web"), slog.Int64("attempt", 3))
	_, call := tracer.Start(ctx, "runtime.v1.RuntimeService/RunPodSandbox", Client)
	call.End(errors.New("no network"))
	step.End(nil)
	cause := tracer.Request("00-" + fmt.Sprintf("%032x", 7) + "-" + fmt.Sprintf("%016x", 8) + "-01")
	begin := time.Unix(100, 5)
	tracer.Whole(pod, "StartPod", begin, begin.Add(time.Second), []Parent{cause})
	flush(tracer)

	request := <-got.got
	resource := request.GetResourceSpans()[0]
	if a := resource.GetResource().GetAttributes(); len(a) != 3 || a[2].GetKey() != "k8s.node.name" || a[2].GetValue().GetStringValue() != "node-a" {
		t.Errorf("the resource has %v", a)
	}
	scope := resource.GetScopeSpans()[0]
	if scope.GetScope().GetName() != "nodal" || scope.GetScope().GetVersion() != "v1" || len(scope.GetSpans()) != 3 {
		t.Fatalf("got %v, want three spans of nodal", scope)
	}
	gotCall, gotStep, gotPod := scope.GetSpans()[0], scope.GetSpans()[1], scope.GetSpans()[2]
	for _, s := range scope.GetSpans() {
		if hex.EncodeToString(s.GetTraceId()) != "0102030a0b0c4d0e8f10111213141516" || s.GetFlags() != 1 {
			t.Errorf("%s is of trace %x, flags %d, want the pod's, told", s.GetName(), s.GetTraceId(), s.GetFlags())
		}
	}
	if string(gotCall.GetParentSpanId()) != string(gotStep.GetSpanId()) || string(gotStep.GetParentSpanId()) != string(gotPod.GetSpanId()) || gotPod.GetParentSpanId() != nil {
		t.Errorf("the call is below %x, the step %x below %x, the pod %x below %x",
			gotCall.GetParentSpanId(), gotStep.GetSpanId(), gotStep.GetParentSpanId(), gotPod.GetSpanId(), gotPod.GetParentSpanId())
	}
	if gotCall.GetKind() != otlp.Span_SPAN_KIND_CLIENT || gotCall.GetStatus().GetCode() != otlp.Status_STATUS_CODE_ERROR || gotCall.GetStatus().GetMessage() != "no network" {
		t.Errorf("the call is %v", gotCall)
	}
	if a := gotStep.GetAttributes(); gotStep.GetStatus() != nil || len(a) != 2 || a[0].GetValue().GetStringValue() != "web" || a[1].GetValue().GetIntValue() != 3 {
		t.Errorf("the step is %v", gotStep)
	}
	if gotStep.GetStartTimeUnixNano() > gotCall.GetStartTimeUnixNano() || gotStep.GetEndTimeUnixNano() < gotCall.GetEndTimeUnixNano() {
		t.Errorf("the call lasts longer than its step: %v, %v", gotCall, gotStep)
	}
	link := gotPod.GetLinks()
	if gotPod.GetStartTimeUnixNano() != 100e9+5 || gotPod.GetEndTimeUnixNano() != 101e9+5 || len(link) != 1 || string(link[0].GetSpanId()) != string(cause.Span[:]) {
		t.Errorf("the pod is %v", gotPod)
	}
}

func TestTextThatIsNoUTF8IsMendedInsteadOfLosingTheBatch(t *testing.T) {
	got, endpoint := collect(t)
	tracer := newTracer(t, Config{Endpoint: endpoint, PerMillion: 1e6})
	_, span := tracer.Start(WithParent(t.Context(), tracer.Pod(podUID)), "Exec\xff", Internal, slog.String("output", "a\xffb"))
	span.End(errors.New("it said \xff"))
	flush(tracer)
	if n := tracer.Dropped(); n != 0 {
		t.Fatalf("%d spans were dropped, want none", n)
	}
	s := (<-got.got).GetResourceSpans()[0].GetScopeSpans()[0].GetSpans()[0]
	name, output, message := s.GetName(), s.GetAttributes()[0].GetValue().GetStringValue(), s.GetStatus().GetMessage()
	if name != "Exec\uFFFD" || output != "a\uFFFDb" || message != "it said \uFFFD" {
		t.Errorf("got %q, %q and %q", name, output, message)
	}
}

func TestARequestsTraceIsTheOneThatItCameWith(t *testing.T) {
	trace, span := "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	tests := []struct {
		name, header string
		joined, told bool
	}{
		{"one that is told", "00-" + trace + "-" + span + "-01", true, true},
		{"one that is not", "00-" + trace + "-" + span + "-00", true, false},
		{"a later version with more", "01-" + trace + "-" + span + "-01-more", true, true},
		{"none", "", false, false},
		{"this version with more", "00-" + trace + "-" + span + "-01-more", false, false},
		{"no version", "ff-" + trace + "-" + span + "-01", false, false},
		{"no trace", "00-" + fmt.Sprintf("%032x", 0) + "-" + span + "-01", false, false},
		{"no span", "00-" + trace + "-" + fmt.Sprintf("%016x", 0) + "-01", false, false},
		{"capitals", "00-4BF92F3577B34DA6A3CE929D0E0E4736-" + span + "-01", false, false},
		{"nonsense", "00-" + trace[1:] + "x-" + span + "-01", false, false},
		{"too short", "00-" + trace[2:] + "-" + span + "-01", false, false},
	}
	tracer := newTracer(t, Config{Endpoint: "localhost:1"})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := tracer.Request(tt.header)
			if joined := hex.EncodeToString(got.Trace[:]) == trace; joined != tt.joined || got.Sampled != tt.told {
				t.Errorf("got %s", got)
			}
			if again, ok := ParseParent(got.String()); tt.joined && (!ok || again != got) {
				t.Errorf("%s reads as %v, %t", got, again, ok)
			}
		})
	}
}

func TestSamplingKeepsTheConfiguredShare(t *testing.T) {
	const pods = 20000
	for _, tt := range []struct {
		perMillion  int32
		least, most int
	}{{0, 0, 0}, {100_000, pods/10 - 300, pods/10 + 300}, {1_000_000, pods, pods}} {
		tracer := newTracer(t, Config{Endpoint: "localhost:1", PerMillion: tt.perMillion})
		told := 0
		for range pods {
			uid := string(uuid.NewUUID())
			if tracer.Pod(uid).Sampled {
				told++
			}
			if p := tracer.Pod(uid); p != tracer.Pod(uid) {
				t.Fatalf("pod %s has two traces", uid)
			}
		}
		if told < tt.least || told > tt.most {
			t.Errorf("at %d of a million %d of %d pods are told", tt.perMillion, told, pods)
		}
	}
}

func TestALostCollectorDelaysNoCaller(t *testing.T) {
	tracer := newTracer(t, Config{Endpoint: "127.0.0.1:1", PerMillion: 1e6})
	for range queued + 10 {
		_, span := tracer.Start(WithParent(t.Context(), tracer.Pod(podUID)), "step", Internal)
		span.End(nil) // returns at once, though no collector reads
	}
	if got := tracer.Dropped(); got != 10 {
		t.Errorf("%d spans were dropped, want the 10 for which there was no room", got)
	}
	flush(tracer)
	if got := tracer.Dropped(); got < 10+most {
		t.Errorf("%d spans were dropped, want those of the message that nobody took too", got)
	}
}

func TestUnsampledSpansCostNothing(t *testing.T) {
	silent := newTracer(t, Config{Endpoint: "localhost:1"})
	ctx := WithParent(t.Context(), silent.Pod(podUID))
	if got := testing.AllocsPerRun(100, func() {
		_, span := silent.Start(ctx, "step", Internal)
		span.End(nil)
	}); got != 0 {
		t.Errorf("a span makes %.0f allocations", got)
	}
}
