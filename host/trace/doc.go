// Package trace sends spans to an OpenTelemetry collector: for each step of a pod, each
// call to the runtime that the step made, and each request.
//
//	Start ─▶ Span.End ─▶ queue ─▶ Run ─▶ OTLP over gRPC
//
// To end a span never waits. The queue is bounded: while the collector is slow or gone,
// spans that do not fit are dropped and counted.
//
// The number of a pod's trace is the pod's UID. So a user who knows the pod finds its
// trace, and an agent that starts in the middle continues it. The number alone decides
// whether a trace is sampled.
//
// The messages are OpenTelemetry's own (encode.go). Its library is not used: samplers,
// propagators and processors to choose from are more than a few kinds of spans need.
//
// Start reading at Tracer in tracer.go.
package trace
