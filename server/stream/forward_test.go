package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	client "k8s.io/client-go/tools/portforward"
	dialing "k8s.io/client-go/transport/spdy"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/streaming/pkg/httpstream"
)

// dialers are the clients that kubectl and API servers are built from.
var dialers = map[string]func(*rest.Config, *url.URL) (httpstream.Dialer, error){
	"SPDY": func(c *rest.Config, u *url.URL) (httpstream.Dialer, error) {
		transport, upgrader, err := dialing.RoundTripperFor(c)
		return dialing.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, u), err
	},
	"SPDY in a WebSocket": func(c *rest.Config, u *url.URL) (httpstream.Dialer, error) {
		return client.NewSPDYOverWebsocketDialerForStreaming(u, c)
	},
}

// forwarding runs a test over each kind of connection to a forwarder.
func forwarding(t *testing.T, forward Forwarder, test func(*testing.T, httpstream.Connection)) {
	for name, dial := range dialers {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { Forward(w, r, time.Hour, forward) }))
			defer server.Close()
			address, err := url.Parse(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			dialer, err := dial(&rest.Config{Host: server.URL}, address)
			if err != nil {
				t.Fatal(err)
			}
			connection, _, err := dialer.Dial(portforward.ProtocolV1Name)
			if err != nil {
				t.Fatal(err)
			}
			defer connection.Close()
			test(t, connection)
		})
	}
}

// pair opens the two streams of one forwarded connection.
func pair(t *testing.T, connection httpstream.Connection, id int) (data, failures httpstream.Stream) {
	t.Helper()
	open := func(kind string) httpstream.Stream {
		headers := http.Header{}
		headers.Set(portforward.PortHeader, "8080")
		headers.Set(portforward.PortForwardRequestIDHeader, strconv.Itoa(id))
		headers.Set(portforward.StreamType, kind)
		stream, err := connection.CreateStream(headers)
		if err != nil {
			t.Fatal(err)
		}
		return stream
	}
	failures = open(portforward.StreamTypeError)
	return open(portforward.StreamTypeData), failures
}

func TestConnectionsAreForwarded(t *testing.T) {
	answer := func(_ context.Context, port int32, client io.ReadWriter) error {
		said, err := io.ReadAll(client)
		fmt.Fprintf(client, "%d heard %s", port, said)
		return err
	}
	forwarding(t, answer, func(t *testing.T, connection httpstream.Connection) {
		one, _ := pair(t, connection, 1)
		another, _ := pair(t, connection, 2)
		for text, stream := range map[string]httpstream.Stream{"one": one, "another": another} {
			fmt.Fprint(stream, text)
			stream.Close() // nothing more to say
			if got, err := io.ReadAll(stream); err != nil || string(got) != "8080 heard "+text {
				t.Errorf("got %q, %v", got, err)
			}
		}
	})
}

func TestAFailureToForwardReachesTheClient(t *testing.T) {
	// A stream that is reset while the client still opens it cannot carry the reason.
	opened := make(chan bool)
	fail := func(context.Context, int32, io.ReadWriter) error {
		<-opened
		return errors.New("nobody listens there")
	}
	forwarding(t, fail, func(t *testing.T, connection httpstream.Connection) {
		_, failures := pair(t, connection, 1)
		opened <- true
		if got, _ := io.ReadAll(failures); !strings.Contains(string(got), "nobody listens there") {
			t.Errorf("the client is told %q", got)
		}
	})
}

func TestForwardingEndsWithItsClient(t *testing.T) {
	begun, ended := make(chan bool), make(chan bool)
	hold := func(ctx context.Context, _ int32, _ io.ReadWriter) error {
		begun <- true
		<-ctx.Done()
		ended <- true
		return nil
	}
	forwarding(t, hold, func(t *testing.T, connection httpstream.Connection) {
		pair(t, connection, 1)
		<-begun
		connection.Close()
		<-ended
	})
}

func TestAForwardedConnectionEndsWithItsRequest(t *testing.T) {
	for name, dial := range dialers {
		t.Run(name, func(t *testing.T) {
			ctx, revoke := context.WithCancel(t.Context())
			hold := func(ctx context.Context, _ int32, _ io.ReadWriter) error { <-ctx.Done(); return nil }
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				Forward(w, r.WithContext(ctx), time.Hour, hold)
			}))
			defer server.Close()
			address, err := url.Parse(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			dialer, err := dial(&rest.Config{Host: server.URL}, address)
			if err != nil {
				t.Fatal(err)
			}
			connection, _, err := dialer.Dial(portforward.ProtocolV1Name)
			if err != nil {
				t.Fatal(err)
			}
			defer connection.Close()
			pair(t, connection, 1)
			revoke()
			<-connection.CloseChan()
		})
	}
}
