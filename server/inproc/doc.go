// Package inproc calls gRPC services in the same process.
//
// A Conn is a server to the side that registers services on it, and a client connection to
// the side that calls them. It exists for grpc-gateway: a REST request runs the same handlers
// and interceptors as a gRPC one, streams included, without a socket, a frame or an encoding
// in between.
//
//	client                      Conn                       handler
//	Invoke  ── clone ──────────────────────────> interceptors ─> method
//	NewStream ── clones ─> to (a few messages) ─> interceptors ─> method
//	          <────────── from (a few messages) <─┘
//
// What a caller may rely on, as with a real connection:
//
//   - Metadata goes in as outgoing and arrives as incoming; headers and trailers come back
//     through grpc.Header and grpc.Trailer.
//   - Cancelling the client's context cancels the handler's, and a handler that returns
//     ends its own.
//   - No message is shared: each side may change what it sent or got.
//   - Errors are status errors, and a handler that panics makes an Internal one.
//   - A stream holds a few messages, and few bytes of large ones; then the sender waits for the receiver.
//
// What differs, on purpose: values in the client's context reach the handler, among them the
// identity of the HTTP request. Options about size limits, compression and codecs have no
// effect.
//
// Start reading at Conn.Invoke.
package inproc
