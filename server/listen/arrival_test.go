package listen

import (
	"context"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/test/bufconn"
)

// pipeClient is a known caller, at a connection within the process.
func pipeClient(t *testing.T, sort func(*Front) sorter) *rawClient {
	t.Helper()
	client, _ := pipeTo(t, sort, true)
	return client
}

// served is the server's end of a connection.
type served struct{ net.Conn }

// pipeTo connects within the process. The server's end is there as long as something refers to it.
func pipeTo(t *testing.T, sort func(*Front) sorter, known bool) (client *rawClient, end func() *served) {
	t.Helper()
	server := grpc.NewServer(GRPCOptions(nil)...)
	healthpb.RegisterHealthServer(server, health.NewServer())
	f := New(Config{HTTP: http.NotFoundHandler(), GRPC: server, Fallback: server, Knows: func(*http.Request) (string, bool) { return "a", known }})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- f.Serve(ctx) }()
	l := bufconn.Listen(1 << 16)
	ends := make(chan func() *served, 1)
	go func() {
		there, err := l.Accept()
		if err != nil {
			return
		}
		conn := &served{there}
		ends <- weak.Make(conn).Value
		f.bring(ctx, conn, f.newcomers.add(conn), sort(f))
	}()
	here, err := l.DialContext(ctx)
	if err != nil {
		t.Fatal(err)
	}
	client = speakHTTP2(t, here)
	t.Cleanup(func() {
		here.Close()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return client, <-ends
}

var ways = map[string]func(*Front) sorter{
	"gRPC": func(f *Front) sorter { return f.sortPlain },
	"net/http": func(f *Front) sorter {
		return func(ctx context.Context, c net.Conn) (net.Conn, kind, error) {
			c, _, err := f.sortPlain(ctx, c)
			return c, forHTTP2, err
		}
	},
}

func TestALateMessageEndsItsCall(t *testing.T) {
	for name, sort := range ways {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := pipeClient(t, sort)
				begun := time.Now()
				c.request(1, checkPath)
				c.WriteData(1, false, emptyMessage[:4])
				// grpc-go's handler for net/http may be gone before it has said the status.
				if got := c.status(); got != "1" && (name == "gRPC" || got != "none") {
					t.Errorf("got status %s, want 1", got)
				}
				if got := time.Since(begun); got != messageTimeout {
					t.Errorf("ended after %v, want %v", got, messageTimeout)
				}
			})
		})
	}
}

func TestACallMayLastOnceItsMessageIsThere(t *testing.T) {
	for name, sort := range ways {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := pipeClient(t, sort)
				c.request(1, "/grpc.health.v1.Health/Watch")
				c.WriteData(1, true, emptyMessage)
				c.SetReadDeadline(time.Now().Add(2 * messageTimeout))
				if got, err := c.awaitStatus(); !isTimeout(err) {
					t.Errorf("the watch has ended: status %s, %v", got, err)
				}
			})
		})
	}
}
