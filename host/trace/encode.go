package trace

import (
	"log/slog"
	"strings"
	"time"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// encode translates spans to a request to the collector.
func encode(c Config, spans []*Span) *collectorpb.ExportTraceServiceRequest {
	scope := &tracepb.ScopeSpans{Scope: &commonpb.InstrumentationScope{Name: "nodal", Version: c.Version}}
	for _, s := range spans {
		scope.Spans = append(scope.Spans, encodeSpan(s))
	}
	resource := &resourcepb.Resource{Attributes: encodeAttributes([]slog.Attr{
		slog.String("service.name", "kubelet"), slog.String("service.version", c.Version),
		slog.String("k8s.node.name", c.Node),
	})}
	return &collectorpb.ExportTraceServiceRequest{ResourceSpans: []*tracepb.ResourceSpans{
		{Resource: resource, ScopeSpans: []*tracepb.ScopeSpans{scope}},
	}}
}

// sampledFlag is W3C's flag of a trace that is recorded.
const sampledFlag = 1

func encodeSpan(s *Span) *tracepb.Span {
	span := &tracepb.Span{
		TraceId:           s.at.Trace[:],
		SpanId:            s.at.Span[:],
		Name:              valid(s.name),
		Kind:              s.kind,
		StartTimeUnixNano: nanoseconds(s.begin),
		EndTimeUnixNano:   nanoseconds(s.end),
		Attributes:        encodeAttributes(s.attributes),
		Flags:             sampledFlag,
	}
	if s.parent != [8]byte{} {
		span.ParentSpanId = s.parent[:]
	}
	for _, link := range s.links {
		span.Links = append(span.Links, &tracepb.Span_Link{TraceId: link.Trace[:], SpanId: link.Span[:]})
	}
	if s.failure != "" {
		span.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: valid(s.failure)}
	}
	return span
}

// valid replaces bytes that are not UTF-8, such as in a program's output that an error quotes. The collector would
// refuse the whole batch because of them.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

func nanoseconds(t time.Time) uint64 { return uint64(t.UnixNano()) }

// encodeAttributes translates attributes: whole numbers stay numbers, and every other value becomes text.
func encodeAttributes(attributes []slog.Attr) []*commonpb.KeyValue {
	encoded := make([]*commonpb.KeyValue, 0, len(attributes))
	for _, a := range attributes {
		value := &commonpb.AnyValue{}
		if a.Value.Kind() == slog.KindInt64 {
			value.Value = &commonpb.AnyValue_IntValue{IntValue: a.Value.Int64()}
		} else {
			value.Value = &commonpb.AnyValue_StringValue{StringValue: valid(a.Value.String())}
		}
		encoded = append(encoded, &commonpb.KeyValue{Key: a.Key, Value: value})
	}
	return encoded
}
