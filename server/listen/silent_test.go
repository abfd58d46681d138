package listen

import (
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// TestSilentConnectionsBlockNoOthers opens more of them than there are places.
func TestSilentConnectionsBlockNoOthers(t *testing.T) {
	r := start(t, http.HandlerFunc(echo), 0)
	for _, c := range []struct{ network, address, first string }{
		{"tcp", r.tls, ""},             // never says hello
		{"tcp", r.tls, "\x16\x03\x01"}, // begins one
		{"unix", r.unix, "G"},
	} {
		for range maxPending {
			conn, err := net.Dial(c.network, c.address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			io.WriteString(conn, c.first)
		}
	}
	for network, url := range map[string]string{"tcp": "https://" + r.tls, "unix": "http://localhost"} {
		resp, err := r.httpClient(t, network, "http/1.1").Get(url)
		if err != nil {
			t.Fatalf("%s: %v", network, err)
		}
		resp.Body.Close()
		if _, err := healthpb.NewHealthClient(r.grpcClient(t, network)).Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil {
			t.Errorf("%s: %v", network, err)
		}
	}
}

func TestAThousandIdleConnectionsBlockNoOthers(t *testing.T) {
	r := start(t, http.HandlerFunc(echo), 0)
	for range 1000 {
		conn, err := net.Dial("unix", r.unix)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		if _, err := io.ReadFull(conn, make([]byte, 12)); err != nil {
			t.Fatal(err)
		}
	}
	resp, err := r.httpClient(t, "unix", "http/1.1").Get("http://localhost")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
}

func TestAConnectionHasTenSecondsToSayWhatItIs(t *testing.T) {
	_, config := certificates(t)
	f := New(Config{HTTP: http.NotFoundHandler(), GRPC: grpc.NewServer()})
	for name, sort := range map[string]sorter{"plain": f.sortPlain, "TLS": f.sortTLS(config)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, server := net.Pipe()
				begun := time.Now()
				go f.bring(t.Context(), server, sort)
				if _, err := client.Read(make([]byte, 1)); err != io.EOF {
					t.Errorf("got %v, want the end", err)
				}
				if got := time.Since(begun); got != helloTimeout {
					t.Errorf("dropped after %v, want %v", got, helloTimeout)
				}
			})
		})
	}
}

func TestTheOldestPendingConnectionLosesItsPlace(t *testing.T) {
	p := newPending(2)
	var clients []net.Conn
	for range 3 {
		client, server := net.Pipe()
		p.add(server)
		clients = append(clients, client)
	}
	clients[0].SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := clients[0].Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the oldest: got %v, want the end", err)
	}
	for _, c := range clients[1:] {
		c.SetReadDeadline(time.Now())
		if _, err := c.Read(make([]byte, 1)); err == io.EOF {
			t.Error("a younger one is closed too")
		}
	}
}
