package listen

import (
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
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
		for range maxNewcomers {
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
	const noSettings = "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	for name, c := range map[string]struct {
		sort sorter
		says string
	}{
		"plain":               {f.sortPlain, ""},
		"TLS":                 {f.sortTLS(config), ""},
		"HTTP/2, no request":  {f.sortPlain, http2.ClientPreface + noSettings},
		"HTTP/2, half of one": {f.sortPlain, http2.ClientPreface + noSettings + "\x00\x00\x01\x01\x00\x00\x00\x00\x01\x82"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, server := net.Pipe()
				begun := time.Now()
				go f.bring(t.Context(), server, f.newcomers.add(server), c.sort)
				if c.says != "" {
					go io.WriteString(client, c.says)
				}
				if _, err := io.Copy(io.Discard, client); err != nil {
					t.Errorf("got %v, want the end", err)
				}
				if got := time.Since(begun); got != helloTimeout {
					t.Errorf("dropped after %v, want %v", got, helloTimeout)
				}
			})
		})
	}
}

func TestAHandshakeIsBounded(t *testing.T) {
	_, config := certificates(t)
	f := New(Config{HTTP: http.NotFoundHandler(), GRPC: grpc.NewServer()})
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		begun := time.Now()
		go f.bring(t.Context(), server, f.newcomers.add(server), f.sortTLS(config))
		go io.Copy(io.Discard, client)
		// A hello of 60,000 bytes, of which as many records come as the server takes.
		const record = 16 << 10
		hello := append([]byte("\x01\x00\xea\x60"), make([]byte, record-4)...)
		sent := 0
		for ; sent < 60_000; sent += record {
			client.SetWriteDeadline(time.Now().Add(time.Second))
			if _, err := client.Write(append([]byte("\x16\x03\x01\x40\x00"), hello...)); err != nil {
				break
			}
			clear(hello)
		}
		if sent > maxHello || time.Since(begun) > time.Second {
			t.Errorf("the server took %d bytes in %v, want the end after %d", sent, time.Since(begun), maxHello)
		}
	})
}
