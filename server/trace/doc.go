// Package trace has requests to the node followed as parts of traces.
//
//	gRPC, REST ──▶ Unary, Stream ─┐
//	                              ├──▶ Trace ──▶ the agent's tracer
//	kubelet paths ─▶ Trace ───────┘
//
// It knows no tracer and no collector: Trace is the whole contract, and Off fulfils it
// where tracing is not configured. REST hands the caller's traceparent on to the call
// that it makes, by ForwardParent.
//
// Start reading at Trace in trace.go.
package trace
