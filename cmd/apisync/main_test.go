package main

import (
	"context"
	"errors"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
	"k8s.io/client-go/transport"

	nodev1 "nodal/api/gen/node/v1"
)

func TestOptionsThatDoNotGoTogether(t *testing.T) {
	for _, c := range []struct{ name, args, want string }{
		{"a cluster", "--kubeconfig k", ""},
		{"a node elsewhere", "--kubeconfig k --node-server 10.0.0.7:10250 --node-certfile c --node-keyfile k", ""},
		{"neither cluster nor fleet", "", "either --kubeconfig"},
		{"a node in two places", "--kubeconfig k --socket s --node-server 10.0.0.7:10250", "either --socket"},
		{"a node that would not know its caller", "--kubeconfig k --node-server 10.0.0.7:10250", "--node-certfile"},
		{"labels that no node may have", "--kubeconfig k --node-labels node-role.kubernetes.io/x=", "--node-labels"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := ""
			if _, err := parse(strings.Fields(c.args), io.Discard); err != nil {
				got = err.Error()
			}
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// heard is a log that can be waited for.
type heard chan string

func (h heard) Write(text []byte) (int, error) {
	h <- string(text)
	return len(text), nil
}

func TestWhyANodeCannotBeReachedIsSaid(t *testing.T) {
	for _, c := range []struct {
		name  string
		start func(*httptest.Server)
		want  string
	}{
		{"its certificate is of another authority", (*httptest.Server).StartTLS, "unknown authority"},
		{"it is another port", (*httptest.Server).Start, "TLS handshake"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewUnstartedServer(http.NotFoundHandler())
			server.Config.ErrorLog = log.New(io.Discard, "", 0)
			server.EnableHTTP2 = true
			c.start(server)
			defer server.Close()
			conn, err := dial(options{server: server.Listener.Addr().String(), node: transport.TLSConfig{ServerName: "example.com"}})
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			said := make(heard, 10)
			go logOutages(t.Context(), conn, slog.New(slog.NewTextHandler(said, nil)))
			if got := <-said; !strings.Contains(got, c.want) {
				t.Errorf("said %q, want %q", got, c.want)
			}
		})
	}
}

// full is a node that holds more than gRPC's clients take by themselves.
type full struct {
	nodev1.UnimplementedConfigMapsServiceServer
}

const muchHeld = 8 << 20

func (full) ListConfigMaps(context.Context, *nodev1.ListConfigMapsRequest) (*nodev1.ListConfigMapsResponse, error) {
	return &nodev1.ListConfigMapsResponse{ConfigMaps: []*nodev1.ConfigMap{{Name: strings.Repeat("x", muchHeld)}}}, nil
}

func TestANodeMayHoldMuchOfWhatPodsUse(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "node.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	nodev1.RegisterConfigMapsServiceServer(server, full{})
	go server.Serve(listener)
	defer server.Stop()
	conn, err := dial(options{socket: socket})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	reply, err := nodev1.NewConfigMapsServiceClient(conn).ListConfigMaps(t.Context(), &nodev1.ListConfigMapsRequest{})
	if err != nil || len(reply.GetConfigMaps()[0].GetName()) != muchHeld {
		t.Errorf("what it holds is not read: %v", err)
	}
}

func TestEachReasonIsSaidOnceAndThatTheNodeIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		listener := bufconn.Listen(1 << 16)
		server := grpc.NewServer()
		go server.Serve(listener)
		defer server.Stop()
		// It is away for a while for two reasons, and then there.
		conn, err := grpc.NewClient("passthrough:///node", grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
				switch away := time.Since(began); {
				case away < 10*time.Minute:
					return nil, errors.New("no such file")
				case away < 20*time.Minute:
					return nil, errors.New("refused")
				}
				return listener.DialContext(ctx)
			}))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		said := make(heard, 100)
		logOutages(ctx, conn, slog.New(slog.NewTextHandler(said, nil)))
		for _, want := range []string{"no such file", "refused", "the node answers again"} {
			if len(said) == 0 {
				t.Fatalf("the log lacks %q", want)
			}
			if got := <-said; !strings.Contains(got, want) {
				t.Errorf("said %q, want %q", got, want)
			}
		}
		if len(said) > 0 {
			t.Errorf("said %q too", <-said)
		}
	})
}
