package conformance

import (
	"testing"

	"google.golang.org/grpc"

	"nodal/sim/cri"
)

// Connect serves a simulated runtime until the test ends, and returns a connection to it.
func Connect(t *testing.T, server *cri.Server, options ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	link := server.Link()
	conn, err := link.Dial(options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Errorf("close the connection: %v", err)
		}
		if err := link.Close(); err != nil {
			t.Error(err)
		}
	})
	return conn
}
