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
// Nothing is asked of a connection in the accepting goroutine. Each gets a goroutine and
// a time limit to say what it is; there are so many places for those that have not said
// it yet, and when they run out the oldest loses its place. A client that is honest says
// it in milliseconds, so a flood of silent ones costs the flood, not the others.
//
// The package knows nothing of identities: Config.ConnContext and Credentials pass each
// raw connection to the package that does. gRPC servers have to be made with GRPCOptions.
//
// Start reading at Front.Serve.
package listen
