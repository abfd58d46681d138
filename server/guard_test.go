package server

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestRequestsWithoutCredentialsAreRefused(t *testing.T) {
	n := newNode(t, func(c *Config) { c.Front.Auth = newAuth(t, false) })
	for _, path := range []string{"/", "/pods", "/healthz", "/v1/pods", "/v1/pods:watch", "/openapi.json", "/nothing"} {
		if got := n.do(t, "GET", path, ""); got.status != http.StatusUnauthorized {
			t.Errorf("%s: got %d %s, want 401", path, got.status, got.body)
		}
	}
}

func TestPagesOfOtherSitesChangeNothing(t *testing.T) {
	n := newNode(t)
	got := n.do(t, "POST", "/v1/manifests", manifestOf("web"), "Origin", "https://evil.test", "Sec-Fetch-Site", "cross-site")
	if got.status != http.StatusForbidden {
		t.Errorf("a post from another site: got %d %s, want 403", got.status, got.body)
	}
	if got := n.do(t, "GET", "/v1/pods", ""); strings.Contains(got.body, "web") {
		t.Errorf("the pod is there: %s", got.body)
	}
}

func TestALoopbackPortAnswersLocalNamesOnly(t *testing.T) {
	n := newNode(t)
	serve := func(local, host string) int {
		address, err := net.ResolveTCPAddr("tcp", local)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest("GET", "/pods", nil)
		r.Host = host
		r = r.WithContext(context.WithValue(t.Context(), http.LocalAddrContextKey, net.Addr(address)))
		w := httptest.NewRecorder()
		n.server.ReadOnly().ServeHTTP(w, r)
		return w.Code
	}
	cases := []struct {
		local, host string
		want        int
	}{
		{"127.0.0.1:10255", "localhost:10255", 200},
		{"127.0.0.1:10255", "127.0.0.1:10255", 200},
		{"[::1]:10255", "[::1]:10255", 200},
		{"[::1]:10255", "[::1]", 200},
		{"127.0.0.1:10255", "evil.test:10255", 421},
		{"192.0.2.1:10255", "node1.example.com:10255", 200},
	}
	for _, c := range cases {
		if got := serve(c.local, c.host); got != c.want {
			t.Errorf("Host %s on %s: got %d, want %d", c.host, c.local, got, c.want)
		}
	}
}

// A request that is let through gets 404, as there is no such pod.
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
