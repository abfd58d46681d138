// Package tracing follows pods, calls of the runtime and requests with spans of OpenTelemetry.
//
//	request that posts a pod --caused--> StartPod, the span of a pod as a whole
//	                                       +-- step of the reconciler
//	                                             +-- call of the runtime
//
// The identity of a pod's trace follows from its UID, so no part has to pass one on. host/trace makes the spans and sends
// them.
//
// Start reading at New in tracing.go.
package tracing
