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
// There are few kinds of messages and they only go out, so they are written as
// their protocol has them on the wire (encode.go): OpenTelemetry's own library is
// made for much more.
//
// Start reading at Tracer in tracer.go.
package trace
