// Package listen brings connections to the server that fits them.
//
// One address serves native gRPC and HTTP. A TLS connection is told apart by the
// protocols its hello offers, a plaintext one by its first bytes:
//
//	hello offers only h2, or preface "PRI "  -> grpc-go's own transport
//	anything else                            -> net/http, HTTP/1.1 and HTTP/2
//	    a gRPC content type in there         -> grpc.Server.ServeHTTP
//
// grpc-go's own transport takes a third of the processor time of ServeHTTP, hence
// the trouble. The price: a client that offers h2 alone and does not speak gRPC, such as
// curl --http2-prior-knowledge, is taken for a gRPC client. curl by default offers both.
//
// # Strangers
//
// Before a caller has proven an identity next to nothing is held of it. A connection is known by a
// client certificate or by the peer of the socket, or else by the headers of a request:
//
//	accept ─▶ newcomer ── hello ── first headers ─┬─▶ known:    grpc-go, or net/http with the usual limits
//	          (crowd.go)  (sort.go)  (opening.go) └─▶ stranger: the lobby, HTTP/2 with few streams and small windows
//
// The beginning of an HTTP/2 connection is read frame by frame up to the first headers, about which Config.Knows is
// asked. The server that is chosen then hears the client again from the start. A connection of HTTP/1.1 is not read
// ahead: it is a newcomer until its first request, and each request without an identity has the limits of a stranger
// (guest.go). A stranger that proves itself later is asked, by GOAWAY, to come again.
//
// There are so many places for newcomers and for strangers, in all and for one address, and so many
// requests of strangers at a time. When they run out, the one that has been quiet longest loses its place:
// an honest client proves itself in milliseconds. Known callers take no place.
//
// # Known callers
//
// grpc-go keeps a message that is not complete, and has the call authorized only afterwards. So the bytes of such
// messages are counted on the way, for each caller, and one that holds too many loses its connection (unfinished.go).
//
// Nothing is asked of a connection in the accepting goroutine, and everything that has to arrive has a time
// limit: the hello and the first headers 10 s, the first message of a call 30 s (arrival.go). A connection of HTTP/2
// without a request is closed here and not by net/http (idle.go).
//
// The package does not decide which callers are known: Config.Knows, ConnContext and the Fallback belong to the package
// that does. gRPC servers have to be made with GRPCOptions.
//
// Start reading at Front.bring.
package listen
