package server

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	clientrest "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"

	"nodal/node"
)

func TestStreamsAreRefusedBeforeTheUpgrade(t *testing.T) {
	n := newNode(t)
	n.apply(t, manifestOf("web"))
	n.apply(t, manifestOf("waiting"))
	n.run(t, "web", node.ContainerRunning)
	cases := []struct {
		name, path string
		want       int
	}{
		{"there is no such pod", "/exec/default/none/main?command=sh&output=1", 404},
		{"another pod has the name", "/exec/default/web/uid-0/main?command=sh&output=1", 404},
		{"no stream is asked for", "/exec/default/web/main?command=sh", 400},
		{"no command is given", "/exec/default/web/main?output=1", 400},
		{"the container does not run", "/exec/default/waiting/main?command=sh&output=1", 500},
		{"there is no such pod to attach to", "/attach/default/none/main?output=1", 404},
		{"another pod has the name to attach to", "/attach/default/web/uid-0/main?output=1", 404},
		{"no stream to attach is asked for", "/attach/default/web/main", 400},
		{"what to attach to does not run", "/attach/default/waiting/main?output=1", 500},
		{"there is no such pod to forward to", "/portForward/default/none", 404},
		{"another pod has the name to forward to", "/portForward/default/web/uid-0", 404},
		{"what to forward to does not run", "/portForward/default/waiting", 500},
		{"forwarding needs an upgrade", "/portForward/default/web", 400},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, method := range []string{"GET", "POST"} {
				if got := n.do(t, method, c.path, ""); got.status != c.want {
					t.Errorf("%s: got %d %s, want %d", method, got.status, got.body, c.want)
				}
			}
		})
	}
}

// Whoever gets as far as the pod is told that there is none.
func TestPagesOfOtherSitesOpenNoWebSocket(t *testing.T) {
	n := newNode(t)
	for _, c := range []struct {
		name    string
		headers []string
		want    int
	}{
		{"kubectl", nil, 404},
		{"a page of the node's own", []string{"Origin", "https://node:10250", "Sec-Fetch-Site", "same-origin"}, 404},
		{"a page of the node's own in a browser that says less", []string{"Origin", "https://node:10250"}, 404},
		{"another site's page", []string{"Origin", "https://evil.test", "Sec-Fetch-Site", "cross-site"}, 403},
		{"another site's page in a browser that says less", []string{"Origin", "https://evil.test"}, 403},
		{"a page on another port of this host", []string{"Origin", "https://node:8443", "Sec-Fetch-Site", "same-site"}, 403},
		{"a page without an origin", []string{"Origin", "null"}, 403},
		{"an API server that passes a page's request on", []string{"Origin", "https://console.test", "X-Forwarded-For", "192.0.2.9"}, 404},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, path := range []string{"/exec/default/none/main?command=sh&output=1", "/attach/default/none/main?output=1", "/portForward/default/none"} {
				got := n.do(t, "GET", path, "", append([]string{"Host", "node:10250", "Connection", "keep-alive, Upgrade", "Upgrade", "websocket"}, c.headers...)...)
				if got.status != c.want {
					t.Errorf("%s: got %d %s, want %d", path, got.status, got.body, c.want)
				}
			}
		})
	}
}

func TestALiveCommandRunsThroughTheWholeServer(t *testing.T) {
	n := newNode(t)
	n.apply(t, manifestOf("web"))
	n.run(t, "web", node.ContainerRunning)
	n.runtime.exec = func(_ context.Context, id string, command []string, s node.Streams) (int32, error) {
		// Channels share a connection: unread input delays the size.
		text, err := io.ReadAll(s.Stdin)
		size := <-s.Resize
		fmt.Fprintf(s.Stdout, "%s ran %q in %dx%d with %s", id, command, size.Width, size.Height, text)
		return 0, err
	}
	front := httptest.NewServer(n.server.HTTP())
	defer front.Close()
	address := front.URL + "/exec/default/web/main?command=sh&command=-c&input=1&output=1&tty=1"
	client, err := remotecommand.NewWebSocketExecutor(&clientrest.Config{Host: front.URL}, "GET", address)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	err = client.StreamWithContext(t.Context(), remotecommand.StreamOptions{
		Stdin: strings.NewReader("hello"), Stdout: &out, Tty: true, TerminalSizeQueue: &oneSize{remotecommand.TerminalSize{Width: 80, Height: 24}, false},
	})
	if want := `web-main-0 ran ["sh" "-c"] in 80x24 with hello`; err != nil || out.String() != want {
		t.Errorf("got %q, %v, want %q", out.String(), err, want)
	}
}

func TestExecAndAttachEndWithAnAPIServerThatHangsUp(t *testing.T) {
	n := newNode(t)
	n.apply(t, manifestOf("web"))
	n.run(t, "web", node.ContainerRunning)
	front := httptest.NewServer(n.server.HTTP())
	defer front.Close()
	for _, path := range []string{"exec", "attach"} {
		t.Run(path, func(t *testing.T) {
			ctx, hangUp := context.WithCancel(t.Context())
			ended := make(chan struct{})
			hold := func(ctx context.Context) error {
				hangUp()
				<-ctx.Done()
				close(ended)
				return ctx.Err()
			}
			n.runtime.exec = func(ctx context.Context, _ string, _ []string, _ node.Streams) (int32, error) { return 0, hold(ctx) }
			n.runtime.attach = func(ctx context.Context, _ string, _ node.Streams) error { return hold(ctx) }
			address, err := url.Parse(front.URL + "/" + path + "/default/web/main?command=sh&output=1")
			if err != nil {
				t.Fatal(err)
			}
			client, err := remotecommand.NewSPDYExecutor(&clientrest.Config{Host: front.URL}, http.MethodPost, address)
			if err != nil {
				t.Fatal(err)
			}
			_ = client.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: io.Discard}) // it was cancelled
			select {
			case <-ended:
			case <-time.After(20 * time.Second):
				t.Error("it goes on")
			}
		})
	}
}

type oneSize struct {
	size remotecommand.TerminalSize
	told bool
}

func (s *oneSize) Next() *remotecommand.TerminalSize {
	if s.told {
		return nil
	}
	s.told = true
	return &s.size
}
