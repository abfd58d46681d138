package listen

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

func TestACallWithoutAnIdentityEndsAtItsHeaders(t *testing.T) {
	r := start(t, http.NotFoundHandler(), 0)
	for name, protocols := range map[string][]string{"h2 alone": {"h2"}, "h2 and http/1.1": {"h2", "http/1.1"}} {
		t.Run(name, func(t *testing.T) {
			c := r.dialRaw(t, protocols...)
			c.request(1, checkPath) // no message follows
			if got := c.status(); got != "16" {
				t.Errorf("got status %s, want 16", got)
			}
		})
	}
}

func TestStreamsOfAConnectionDependOnItsCaller(t *testing.T) {
	r := start(t, http.NotFoundHandler(), 0)
	cases := []struct {
		name      string
		protocols []string
		token     string
		want      uint32
	}{
		{"a stranger of gRPC", []string{"h2"}, "", strangerStreams},
		{"a stranger of HTTP/2", []string{"h2", "http/1.1"}, "", strangerStreams},
		{"a known caller of gRPC", []string{"h2"}, goodToken, maxCalls},
		{"a known caller of HTTP/2", []string{"h2", "http/1.1"}, goodToken, 250},
	}
	for _, c := range cases {
		for _, early := range []bool{true, false} {
			name := c.name
			if !early {
				name += " that reads settings first"
			}
			t.Run(name, func(t *testing.T) {
				client := r.dialRaw(t, c.protocols...)
				if !early {
					if _, err := client.ReadFrame(); err != nil {
						t.Fatal(err)
					}
					client.WriteSettingsAck()
				}
				client.request(1, checkPath, "authorization", c.token)
				if got := client.settle(); got != c.want {
					t.Errorf("got %d streams, want %d", got, c.want)
				}
				// The connection works on: no answer to settings was one too many.
				client.request(3, checkPath, "authorization", c.token)
				client.WriteData(3, true, emptyMessage)
				want := "0"
				if c.token == "" {
					want = "16"
				}
				if got := client.status(); got != want {
					t.Errorf("got status %s, want %s", got, want)
				}
			})
		}
	}
}

func TestHeadersAreBounded(t *testing.T) {
	r := start(t, http.HandlerFunc(echo), 0)
	for _, protocols := range [][]string{{"http/1.1"}, {"h2", "http/1.1"}} {
		t.Run(protocols[0], func(t *testing.T) {
			for size, want := range map[int]int{12 << 10: http.StatusOK, 30 << 10: http.StatusRequestHeaderFieldsTooLarge} {
				req, err := http.NewRequest("GET", "https://"+r.tls, nil)
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Authorization", "Bearer "+strings.Repeat("y", size))
				resp, err := r.httpClient(t, "tcp", protocols...).Do(req)
				if protocols[0] == "h2" && err != nil && want != http.StatusOK {
					continue // a client that knows the limit does not send
				}
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				if resp.StatusCode != want {
					t.Errorf("%d bytes: got %s, want %d", size, resp.Status, want)
				}
			}
		})
	}
}

func TestAStrangerThatProvesItselfComesAgain(t *testing.T) {
	r := start(t, http.HandlerFunc(echo), 0)
	client := r.httpClient(t, "tcp", "h2", "http/1.1")
	dialed := 0
	ask := func(token string) (reused bool) {
		req, err := http.NewRequest("GET", "https://"+r.tls, nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			req.Header.Set("Authorization", token)
		}
		trace := &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
			if reused = i.Reused; !reused {
				dialed++
			}
		}}
		resp, err := client.Do(req.WithContext(httptrace.WithClientTrace(t.Context(), trace)))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || !strings.HasPrefix(string(body), "HTTP/2.0 tls=true") {
			t.Errorf("got %q, %v", body, err)
		}
		return reused
	}
	ask("")
	if !ask("") || !ask(goodToken) {
		t.Error("a stranger needs a connection for each request")
	}
	for ask(goodToken) { // the server has asked for it; it may take the client a moment to hear
	}
	for range 5 {
		ask(goodToken)
	}
	if dialed != 2 {
		t.Errorf("the client made %d connections, want 2", dialed)
	}
}

// A known caller keeps its connection, whatever strangers do at the same address.
func TestStrangersMakeRoomForOneAnother(t *testing.T) {
	r := start(t, http.HandlerFunc(echo), 0)
	known := healthpb.NewHealthClient(r.grpcClient(t, "tcp"))
	if _, err := known.Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil {
		t.Fatal(err)
	}
	before, err := known.Watch(t.Context(), &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := before.Recv(); err != nil {
		t.Fatal(err)
	}
	for _, ask := range []func() net.Conn{
		func() net.Conn {
			c := r.dialRaw(t, "h2")
			c.request(1, checkPath)
			c.status()
			return c.Conn
		},
		func() net.Conn {
			c, err := tls.Dial("tcp", r.tls, r.client)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
			io.WriteString(c, "GET / HTTP/1.1\r\nHost: node\r\n\r\n")
			if _, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil {
				t.Fatal(err)
			}
			return c
		},
	} {
		first := ask()
		for range maxStrangersEach {
			ask()
		}
		first.SetReadDeadline(time.Now().Add(10 * time.Second))
		if _, err := io.Copy(io.Discard, first); isTimeout(err) {
			t.Error("the oldest stranger still has its connection")
		}
	}
	if _, err := known.Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil {
		t.Error(err)
	}
	if err := before.CloseSend(); err != nil {
		t.Error(err)
	}
}

func isTimeout(err error) bool {
	timeout, ok := err.(net.Error)
	return ok && timeout.Timeout()
}

func TestABodyThatDoesNotComeHoldsNoAnswerBack(t *testing.T) {
	r := start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }), 0)
	c, err := tls.Dial("tcp", r.tls, r.client)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(10 * time.Second))
	io.WriteString(c, "POST / HTTP/1.1\r\nHost: node\r\nContent-Length: 100\r\n\r\nhalf")
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusUnauthorized || !resp.Close {
		t.Errorf("got %s, close %v", resp.Status, resp.Close)
	}
}

func TestABodyOfAStrangerIsBounded(t *testing.T) {
	for size, want := range map[int]string{strangerBody: "", strangerBody + 1: "http: request body too large"} {
		got := make(chan string, 1)
		r := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				got <- err.Error()
				return
			}
			got <- ""
		}), 0)
		resp, err := r.httpClient(t, "tcp", "h2", "http/1.1").Post("https://"+r.tls, "text/plain", bytes.NewReader(make([]byte, size)))
		if err == nil {
			resp.Body.Close()
		}
		if read := <-got; read != want {
			t.Errorf("%d bytes: got %q, want %q", size, read, want)
		}
	}
}

func TestAStrangerMaySendOnlySoMuch(t *testing.T) {
	r := start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }), 0)
	for token, bounded := range map[string]bool{"": true, goodToken: false} {
		c, err := tls.Dial("tcp", r.tls, r.client)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(10 * time.Second))
		answers := bufio.NewReader(c)
		sent := 0
		for sent <= strangerBytes {
			n, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: node\r\nAuthorization: "+token+"\r\nPadding: "+strings.Repeat("x", 1000)+"\r\n\r\n")
			if err != nil {
				break
			}
			resp, err := http.ReadResponse(answers, nil)
			if err != nil || resp.StatusCode != http.StatusUnauthorized {
				break
			}
			sent += n
		}
		if got := sent <= strangerBytes; got != bounded {
			t.Errorf("with token %.8q the connection took %d bytes, want it bounded: %t", token, sent, bounded)
		}
	}
}
