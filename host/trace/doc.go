// Package trace tells a collector of OpenTelemetry's what took how long: each
// step of a pod, each call to the runtime that it made, each request.
//
//	Start ─▶ Span.End ─▶ queue ─▶ Run ─▶ OTLP over gRPC
//
// Whoever ends a span never waits. The queue is bounded: while the collector is
// slow or gone, what does not fit is dropped and counted.
//
// A pod's trace has the pod's UID for its number, so that anybody who knows the
// pod finds its trace, and an agent that starts in the middle goes on with it.
// Whether a trace is told at all follows from its number alone.
//
// The messages are OpenTelemetry's own (encode.go). Its library is not used: samplers,
// propagators and processors to choose from are more than a few kinds of spans need.
//
// Start reading at Tracer in tracer.go.
package trace
