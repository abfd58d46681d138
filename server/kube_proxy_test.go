package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"testing"

	"nodal/node"
)

// served lets every port of a pod lead to a server of the test's.
func (n *node1) served(handler http.Handler) (stop func()) {
	s := httptest.NewServer(handler)
	n.runtime.forward = func(ctx context.Context, _ string, port int32, client io.ReadWriter) error {
		if port == 81 {
			return errors.New("connect to localhost:81: connection refused")
		}
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.Listener.Addr().String())
		if err != nil {
			return err
		}
		defer conn.Close()
		defer context.AfterFunc(ctx, func() { conn.Close() })()
		go func() { _, _ = io.Copy(conn, client) }()
		_, err = io.Copy(client, conn)
		return err
	}
	return s.Close
}

const podWithPort = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n" +
	"  - {name: main, image: registry.test/main:1, ports: [{containerPort: 8080}]}\n"

const proxies = "/api/v1/namespaces/default/pods/"

func TestServersInPodsAreAsked(t *testing.T) {
	n := newNode(t)
	stop := n.served(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/login":
			w.Header().Set("Set-Cookie", "a=b")
			w.Header().Set("Clear-Site-Data", "*")
			http.Redirect(w, r, "/home?x=1", http.StatusFound)
		case "/elsewhere":
			http.Redirect(w, r, "https://other.test/", http.StatusFound)
		case "/dies":
			panic(http.ErrAbortHandler)
		default:
			body, _ := io.ReadAll(r.Body)
			fmt.Fprintf(w, "%s %s host=%s prefix=%s credentials=%q%q body=%s", r.Method, r.RequestURI, r.Host,
				r.Header.Get("X-Forwarded-Prefix"), r.Header.Get("Authorization"), r.Header.Get("Cookie"), body)
		}
	}))
	t.Cleanup(stop)
	n.apply(t, podWithPort)
	n.apply(t, manifestOf("mute"))
	n.run(t, "web", node.ContainerRunning)
	n.run(t, "mute", node.ContainerRunning)
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		want                     string
	}{
		{"the root", "GET", "web:9/proxy/", "", 200, "GET / host=web:9 prefix=/api/v1/namespaces/default/pods/web:9/proxy credentials=\"\"\"\""},
		{"the port that the pod declares", "GET", "web/proxy/", "", 200, "host=web:8080"},
		{"a path and a query", "GET", "web:9/proxy/a%2Fb/c?d=e%20f", "", 200, "GET /a%2Fb/c?d=e%20f "},
		{"two slashes", "GET", "web:9/proxy//x/y", "", 200, "GET //x/y "},
		{"the scheme by name", "GET", "http:web:9/proxy/", "", 200, "GET /"},
		{"a colon that is escaped", "GET", "web%3A9/proxy/x", "", 200, "GET /x host=web:9"},
		{"a body", "POST", "web:9/proxy/items", "one", 200, "POST /items"},
		{"all of it", "PUT", "web:9/proxy/items", "two", 200, "body=two"},
		{"any method", "PURGE", "web:9/proxy/items", "", 405, ""},
		{"a directory", "GET", "web:9/proxy?x=1", "", 301, ""},
		{"no server", "GET", "web:81/proxy/", "", 503, "connection refused"},
		{"a server that dies", "GET", "web:9/proxy/dies", "", 503, "ask http port 9 of pod default/web"},
		{"no such pod", "GET", "none:9/proxy/", "", 404, `pods \"none\" not found`},
		{"a pod that declares no port", "GET", "mute/proxy/", "", 400, "pod mute declares no port; name one, as in mute:80"},
		{"no port", "GET", "web:http/proxy/", "", 400, `port \"http\"`},
		{"a port that is too large", "GET", "web:65536/proxy/", "", 400, "between 1 and 65535"},
		{"another scheme", "GET", "ftp:web:21/proxy/", "", 400, "want NAME, NAME:PORT or https:NAME:PORT"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := n.do(t, c.method, proxies+c.path, c.body, "Authorization", tokenOf(t, "admin"), "Cookie", "session=of-the-node")
			if got.status != c.status || !strings.Contains(got.body, c.want) {
				t.Errorf("got %d %s, want %d %s", got.status, got.body, c.status, c.want)
			}
		})
	}
	for path, want := range map[string]string{
		"login":     proxies + "web:9/proxy/home?x=1",
		"elsewhere": "https://other.test/",
	} {
		got := n.do(t, "GET", proxies+"web:9/proxy/"+path, "")
		if at := got.header.Get("Location"); at != want {
			t.Errorf("%s leads to %q, want %q", path, at, want)
		}
		if h := got.header; h.Get("Set-Cookie")+h.Get("Clear-Site-Data") != "" || !strings.HasPrefix(h.Get("Content-Security-Policy"), "sandbox allow-scripts") {
			t.Errorf("a pod changes what the browser keeps of the node: %v", h)
		}
	}
	if got := n.do(t, "GET", proxies+"web:9/proxy?x=1", "").header.Get("Location"); got != proxies+"web:9/proxy/?x=1" {
		t.Errorf("the directory leads to %q", got)
	}
}

// A browser's WebSocket to a server in a pod is the pod's own protocol, and the node only passes it on.
func TestConnectionsToServersInPodsAreUpgraded(t *testing.T) {
	n := newNode(t)
	stop := n.served(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		fmt.Fprintf(rw, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", r.Header.Get("Upgrade"))
		rw.Flush()
		line, _ := rw.ReadString('\n')
		fmt.Fprintf(rw, "heard %s", line)
		rw.Flush()
	}))
	t.Cleanup(stop)
	n.apply(t, podWithPort)
	n.run(t, "web", node.ContainerRunning)
	front := httptest.NewServer(n.server.HTTP())
	t.Cleanup(front.Close)
	conn, err := net.Dial("tcp", front.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET %sweb:9/proxy/ws HTTP/1.1\r\nHost: node\r\nConnection: Upgrade\r\nUpgrade: chat\r\n\r\n", proxies)
	from := bufio.NewReader(conn)
	reply, err := http.ReadResponse(from, nil)
	if err != nil || reply.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("got %+v, %v, want an upgrade", reply, err)
	}
	fmt.Fprintln(conn, "hello")
	if got, err := from.ReadString('\n'); got != "heard hello\n" {
		t.Errorf("got %q, %v", got, err)
	}
}

// What a server says before its answer would reach the browser without being confined.
func TestOnlyAnswersOfServersInPodsArePassedOn(t *testing.T) {
	n := newNode(t)
	read := make(chan struct{})
	stop := n.served(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, early := range []int{http.StatusContinue, http.StatusProcessing, http.StatusEarlyHints, 199} {
			w.Header().Set("Set-Cookie", "a=b")
			w.Header().Set("Link", "</v1/pods>; rel=preload; as=fetch")
			w.WriteHeader(early)
			clear(w.Header())
		}
		fmt.Fprintln(w, "one")
		http.NewResponseController(w).Flush()
		select {
		case <-read:
		case <-r.Context().Done():
		}
		fmt.Fprintln(w, "two")
	}))
	t.Cleanup(stop)
	n.apply(t, podWithPort)
	n.run(t, "web", node.ContainerRunning)
	front := httptest.NewServer(n.server.HTTP())
	t.Cleanup(front.Close)
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		Got1xxResponse: func(code int, header textproto.MIMEHeader) error {
			t.Errorf("before the answer: %d %v", code, header)
			return nil
		},
	})
	ask, err := http.NewRequestWithContext(ctx, "GET", front.URL+proxies+"web:9/proxy/", nil)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := front.Client().Do(ask)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	from := bufio.NewReader(reply.Body)
	first, err := from.ReadString('\n') // before the rest is sent
	close(read)
	rest, _ := io.ReadAll(from)
	if reply.StatusCode != 200 || first+string(rest) != "one\ntwo\n" || len(reply.Header["Set-Cookie"])+len(reply.Header["Link"]) != 0 {
		t.Errorf("got %d %q%q, %v, %v", reply.StatusCode, first, rest, err, reply.Header)
	}
}

func TestTheKubeletsPathsAreBelowTheProxyOfTheNode(t *testing.T) {
	n := newNode(t)
	for _, c := range []struct {
		path   string
		status int
		want   string
	}{
		{"/api/v1/nodes/node1/proxy/configz", 200, "kubeletconfig"},
		{"/api/v1/nodes/node1/proxy/pods", 200, `"kind":"PodList"`},
		{"/api/v1/nodes/node1/proxy/healthz", 200, "ok"},
		{"/api/v1/nodes/node1/proxy/logs/", 200, "<pre>"},
		{"/api/v1/nodes/node1/proxy/nothing", 404, ""},
		{"/api/v1/nodes/other/proxy/configz", 404, `node \"other\": this one is node1`},
		{"/api/v1/nodes/node1/proxy/api/v1/nodes/node1/proxy/configz", 404, ""},
	} {
		if got := n.do(t, "GET", c.path, ""); got.status != c.status || !strings.Contains(got.body, c.want) {
			t.Errorf("%s: got %d %.300s, want %d and %s", c.path, got.status, got.body, c.status, c.want)
		}
	}
}
