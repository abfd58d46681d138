// Package kubeletapi serves the kubelet's own paths, such as /pods, /exec and /metrics, with
// upstream's methods, parameters, codes and bodies. Existing clients of a kubelet, among
// them kubectl behind an API server and metrics-server, use them as they are.
//
//	Routes ─▶ pods.go     /pods, /runningpods/
//	       ─▶ streams.go  /exec, /attach, /portForward; run.go: /run
//	       ─▶ logs.go     /containerLogs
//	       ─▶ system_logs.go  /logs/; system_logs_query.go: its queries
//	       ─▶ figures.go  /metrics and below, /stats/summary
//	       ─▶ healthz.go  /healthz
//	       ─▶ process.go  /configz, /flagz, /statusz, /openapi.json, /debug/flags/v
//	       ─▶ profile.go  /debug/pprof
//
// Each file declares what its paths need, and Config puts these together. The package
// decides nothing about pods, knows no caller and checks no right: a Route states its
// right, and the server asks for it.
//
// Start reading at Routes in routes.go.
package kubeletapi
