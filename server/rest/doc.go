// Package rest serves the API's methods over HTTP, below /v1. Each request becomes the call
// that gRPC would make, on a connection inside the process, where rights are checked.
//
//	HTTP ─▶ Handler ─▶ query.go: refuse unknown parameters
//	                     ├──▶ grpc-gateway: a message in, a message out
//	                     ├──▶ stream.go: a server's stream, written by form.go
//	                     ├──▶ import.go: a tarball up, progress down
//	                     └──▶ pods.go: the list of pods, as text
//
// It knows the messages of the API and no service behind them. Answers are protojson:
// names in camelCase, 64-bit integers as strings, unset fields left out. A manifest is
// posted as it stands, in YAML or JSON. Streams are a JSON object a line, or server-sent
// events for a client that accepts text/event-stream; logs are plain text.
//
// Start reading at Handler in rest.go.
package rest
