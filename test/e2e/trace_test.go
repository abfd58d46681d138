package e2e

import (
	"context"
	"encoding/hex"
	"net"
	"strings"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"

	"nodal/test/agent"
	"nodal/test/claim"
	"nodal/test/pace"
)

// spanInbox is a trace collector that passes spans on to the test.
type spanInbox struct {
	collector.UnimplementedTraceServiceServer
	spans chan *otlp.Span
}

func (i *spanInbox) Export(ctx context.Context, r *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	for _, resource := range r.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				select {
				case i.spans <- span:
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

func collectSpans(t *testing.T) (*spanInbox, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	inbox, server := &spanInbox{spans: make(chan *otlp.Span, 1024)}, grpc.NewServer()
	collector.RegisterTraceServiceServer(server, inbox)
	go server.Serve(l)
	t.Cleanup(server.Stop)
	return inbox, l.Addr().String()
}

// until returns all spans up to the first one that of accepts.
func (i *spanInbox) until(t *testing.T, name string, of func(*otlp.Span) bool) []*otlp.Span {
	t.Helper()
	var told []*otlp.Span
	limit := time.After(pace.Of(patience))
	for {
		select {
		case span := <-i.spans:
			told = append(told, span)
			if span.GetName() == name && of(span) {
				return told
			}
		case <-limit:
			t.Fatalf("no span of %s: %v", name, told)
		}
	}
}

func attributesOf(s *otlp.Span) map[string]any {
	found := map[string]any{}
	for _, a := range s.GetAttributes() {
		if text := a.GetValue().GetStringValue(); text != "" {
			found[a.GetKey()] = text
		} else {
			found[a.GetKey()] = a.GetValue().GetIntValue()
		}
	}
	return found
}

func TestACollectorReceivesThePhasesOfAPod(t *testing.T) {
	claim.Shows(t, "Stats and metrics",
		"an OpenTelemetry collector receives each step of a pod and its runtime calls",
		"a request's span is part of the client's trace, and the pod's trace links to it",
		"the span of a stream (a log, a command with live streams) is part of the client's trace too",
	)
	inbox, endpoint := collectSpans(t)
	n := start(t, func(c *agent.Config) {
		c.Settings["tracing"] = map[string]any{"endpoint": endpoint, "samplingRatePerMillion": 1_000_000}
	})
	const trace, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	n.curl("/v1/manifests", "-H", "Traceparent: 00-"+trace+"-"+parent+"-01", "--data-binary", web("followed").yaml())
	n.waitRunning("followed")
	uid := string(n.get("followed").UID)
	ofPod := func(s *otlp.Span) bool { return hex.EncodeToString(s.GetTraceId()) == strings.ReplaceAll(uid, "-", "") }

	told := inbox.until(t, "StartPod", ofPod)
	whole := told[len(told)-1]
	steps, calls := map[string]*otlp.Span{}, map[string]string{}
	var apply *otlp.Span
	for _, s := range told {
		switch {
		case ofPod(s) && string(s.GetParentSpanId()) == string(whole.GetSpanId()):
			steps[s.GetName()] = s
		case ofPod(s):
			calls[s.GetName()] = string(s.GetParentSpanId())
		case s.GetName() == "node.v1.ManifestsService/Apply":
			apply = s
		}
	}
	for step, call := range map[string]string{
		"RunSandbox": "RunPodSandbox", "CreateContainer": "CreateContainer", "StartContainer": "StartContainer",
	} {
		s := steps[step]
		if got := attributesOf(s); got["k8s.pod.name"] != "followed" || got["k8s.namespace.name"] != "default" || got["k8s.pod.uid"] != uid || got["attempt"] != int64(0) {
			t.Errorf("step %s has attributes %v", step, got)
		}
		if below := calls["runtime.v1.RuntimeService/"+call]; s == nil || below != string(s.GetSpanId()) {
			t.Errorf("the call %s is below %x, want step %s", call, below, step)
		}
		if s.GetStartTimeUnixNano() < whole.GetStartTimeUnixNano() || s.GetEndTimeUnixNano() > whole.GetEndTimeUnixNano() {
			t.Errorf("step %s is outside of the pod's start", step)
		}
	}
	if got := attributesOf(steps["StartContainer"])["k8s.container.name"]; got != "main" {
		t.Errorf("the container that starts is %v, want main", got)
	}
	if steps["EnsureImage"] == nil {
		t.Error("no span of the image")
	}
	if hex.EncodeToString(apply.GetTraceId()) != trace || hex.EncodeToString(apply.GetParentSpanId()) != parent || apply.GetKind() != otlp.Span_SPAN_KIND_SERVER {
		t.Errorf("the request's span is %v, want it below the client's", apply)
	}
	parentHeader := "Traceparent: 00-" + trace + "-" + parent + "-01"
	run := `{"start": {"namespace": "default", "name": "followed", "container": "main", "command": ["/probe", "exit", "0"]}}`
	n.runGrpcurl(run, "-plaintext", "-unix", "-H", parentHeader, "-d", "@", n.Socket, "node.v1.ExecService/Exec")
	n.curl("/v1/namespaces/default/pods/followed/containers/main/logs", "-H", parentHeader)
	n.curl("/containerLogs/default/followed/main", "-H", parentHeader)
	told = inbox.until(t, "GET /containerLogs/{namespace}/{pod}/{container}", func(s *otlp.Span) bool {
		return hex.EncodeToString(s.GetParentSpanId()) == parent
	})
	below := map[string]string{}
	for _, s := range told {
		below[s.GetName()] = hex.EncodeToString(s.GetParentSpanId())
	}
	if below["node.v1.ExecService/Exec"] != parent || below["node.v1.LogsService/ReadLogs"] != parent || below["runtime.v1.RuntimeService/Exec"] == "" {
		t.Errorf("spans of streams are below %v, want them below the client's, and their runtime calls below them", below)
	}
	if links := whole.GetLinks(); len(links) != 1 || string(links[0].GetSpanId()) != string(apply.GetSpanId()) {
		t.Errorf("the pod's start is linked with %v, want the request", links)
	}
}
