package main

import (
	"context"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	"k8s.io/client-go/transport"

	nodev1 "nodal/api/gen/node/v1"
)

func TestOptionsThatDoNotGoTogether(t *testing.T) {
	for _, c := range []struct{ name, args, want string }{
		{"a cluster", "--kubeconfig k", ""},
		{"a node elsewhere", "--kubeconfig k --node-server 10.0.0.7:10250 --node-certfile c --node-keyfile k", ""},
		{"neither cluster nor fleet", "", "either --kubeconfig"},
		{"a node in two places", "--kubeconfig k --socket s --node-server 10.0.0.7:10250", "either --socket"},
		{"a node that would not know who asks", "--kubeconfig k --node-server 10.0.0.7:10250", "--node-certfile"},
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
			go complain(t.Context(), nodev1.NewNodeServiceClient(conn), slog.New(slog.NewTextHandler(said, nil)))
			if got := <-said; !strings.Contains(got, c.want) {
				t.Errorf("said %q, want %q", got, c.want)
			}
		})
	}
}

// away is a node that cannot be reached until it is back.
type away struct {
	nodev1.NodeServiceClient
	back time.Time
}

func (a away) GetNode(context.Context, *nodev1.GetNodeRequest, ...grpc.CallOption) (*nodev1.GetNodeResponse, error) {
	if time.Now().Before(a.back) {
		return nil, grpcstatus.Error(codes.Unavailable, "away")
	}
	return &nodev1.GetNodeResponse{}, nil
}

func TestItIsSaidNowAndThenWhileItLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		said := make(heard, 100)
		complain(ctx, away{back: time.Now().Add(5 * time.Minute)}, slog.New(slog.NewTextHandler(said, nil)))
		if got := len(said); got != 10 {
			t.Errorf("said %d times in the 5 minutes that the node was away, want 10", got)
		}
	})
}
