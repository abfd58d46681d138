package server

import (
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"nodal/server/auth"
	"nodal/server/dashboard"
)

func packed(t *testing.T, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func builtUI(t *testing.T) *dashboard.Page {
	return dashboard.New(fstest.MapFS{
		"index.html.gz":       {Data: packed(t, "<html>the page")},
		"assets/app-1.js.gz":  {Data: packed(t, "run()")},
		"assets/font-1.woff2": {Data: []byte("font")},
		"icon.svg.gz":         {Data: packed(t, "<svg>")},
	}, true)
}

func TestTheDashboardIsCompressedForBrowsersThatAcceptIt(t *testing.T) {
	u := builtUI(t)
	cases := []struct {
		name, path, accept string
		status             int
		encoding, kind     string
		cache, body        string
	}{
		{"compressed where that is taken", "/ui/assets/app-1.js", "gzip, deflate, br, zstd", 200, "gzip", "text/javascript; charset=utf-8", "public, max-age=31536000, immutable", string(packed(t, "run()"))},
		{"plain for curl", "/ui/assets/app-1.js", "", 200, "", "text/javascript; charset=utf-8", "public, max-age=31536000, immutable", "run()"},
		{"a font as it is", "/ui/assets/font-1.woff2", "gzip, br", 200, "", "font/woff2", "public, max-age=31536000, immutable", "font"},
		{"another file", "/ui/icon.svg", "", 200, "", "image/svg+xml", "no-cache", "<svg>"},
		{"a path of the page's own is the page", "/ui/pods/default/web", "", 200, "", "text/html; charset=utf-8", "no-cache", "<html>the page"},
		{"a pod with a dot in its name too", "/ui/pods/default/web.2", "", 200, "", "text/html; charset=utf-8", "no-cache", "<html>the page"},
		{"an asset of an older build is gone", "/ui/assets/app-0.js", "br", 404, "", "text/plain; charset=utf-8", "", "404: Page Not Found"},
		{"no file outside", "/ui/../../etc/passwd", "", 200, "", "text/html; charset=utf-8", "no-cache", "<html>the page"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := ask(t, u, "GET", c.path, "", "Accept-Encoding", c.accept)
			head := []string{got.header.Get("Content-Encoding"), got.header.Get("Content-Type"), got.header.Get("Cache-Control")}
			if got.status != c.status || got.body != c.body || head[0] != c.encoding || head[1] != c.kind || head[2] != c.cache {
				t.Errorf("got %d %q %q, want %d %q %q %q %q", got.status, head, got.body, c.status, c.encoding, c.kind, c.cache, c.body)
			}
			if policy := got.header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
				t.Errorf("policy: got %q", policy)
			}
		})
	}
}

func TestAnUnchangedPageIsNotSentAgain(t *testing.T) {
	u := builtUI(t)
	tag := ask(t, u, "GET", "/ui/", "").header.Get("ETag")
	if got := ask(t, u, "GET", "/ui/", "", "If-None-Match", tag); tag == "" || got.status != 304 || got.body != "" {
		t.Errorf("with tag %q: got %d %q, want 304", tag, got.status, got.body)
	}
}

func TestABuildWithoutADashboardSaysSo(t *testing.T) {
	u := dashboard.New(fstest.MapFS{"missing.html": {Data: []byte("built without")}}, false)
	if got := ask(t, u, "GET", "/ui/pods", ""); got.status != 200 || got.body != "built without" {
		t.Errorf("got %d %q", got.status, got.body)
	}
}

func TestTheDashboardIsBesideTheAPI(t *testing.T) {
	n := guarded(t)
	cases := []struct {
		name         string
		handler      http.Handler
		method, path string
		headers      []string
		want         int
		text         string
	}{
		{"anybody may have the documents", n.server.HTTP(), "GET", "/docs/cli", nil, 200, "The command line"},
		{"nobody posts to them", n.server.HTTP(), "POST", "/docs/cli", nil, 405, ""},
		{"the read-only port has them", n.server.ReadOnly(), "GET", "/docs/cli", nil, 200, "The command line"},
		{"the health port does not", n.server.Healthz(), "GET", "/docs/cli", nil, 404, ""},
		{"anybody may have the page", n.server.HTTP(), "GET", "/ui/", nil, 200, "<html"},
		{"nobody posts to it", n.server.HTTP(), "POST", "/ui/", nil, 405, ""},
		{"a browser at the top is led there", n.server.HTTP(), "GET", "/", []string{"Accept", "text/html,*/*"}, 303, ""},
		{"anything else at the top is not", n.server.HTTP(), "GET", "/", nil, 401, ""},
		{"the name without a slash leads there", n.server.HTTP(), "GET", "/ui", nil, 303, ""},
		{"nobody is nobody", n.server.HTTP(), "GET", "/ui/session", nil, 401, ""},
		{"an operator is told what they may", n.server.HTTP(), "GET", "/ui/session", []string{"Authorization", tokenOf(t, "operator")}, 200, `"can":["read","write","exec"]`},
		{"the read-only port has the page", n.server.ReadOnly(), "GET", "/ui/", nil, 200, "<html"},
		{"the read-only port knows viewers only", n.server.ReadOnly(), "GET", "/ui/session", nil, 200, `"can":["read"],"live":false`},
		{"the read-only port lets nobody in", n.server.ReadOnly(), "POST", "/ui/session", nil, 404, ""},
		{"the health port has no page", n.server.Healthz(), "GET", "/ui/", nil, 404, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := ask(t, c.handler, c.method, c.path, "", c.headers...)
			if got.status != c.want || !strings.Contains(got.body, c.text) {
				t.Errorf("got %d %q, want %d with %q", got.status, got.body, c.want, c.text)
			}
		})
	}
}

// browse sends a browser's request over TLS to node:10250.
func browse(t *testing.T, n *node1, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	r.TLS, r.Host = &tls.ConnectionState{}, "node:10250"
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
	}
	w := httptest.NewRecorder()
	n.server.HTTP().ServeHTTP(w, r)
	return w
}

// invite asks for a code with a role's token.
func invite(t *testing.T, n *node1, role string) dashboard.Invitation {
	t.Helper()
	w := browse(t, n, "POST", "/ui/code", "", "Authorization", tokenOf(t, role))
	var got dashboard.Invitation
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 200 {
		t.Fatalf("invite: got %d %s", w.Code, w.Body)
	}
	return got
}

func withReach(c *Config) {
	c.Front.Reach = dashboard.Reach{Hosts: []string{"localhost", "fe80::1"}, Port: 10250}
}

func TestALinkLetsOneBrowserIn(t *testing.T) {
	n := newNode(t, withReach, func(c *Config) { c.Front.Auth = newAuth(t, false) })
	invitation := invite(t, n, "operator")
	want := []string{"https://localhost:10250/ui/#code=" + invitation.Code, "https://[fe80::1]:10250/ui/#code=" + invitation.Code}
	if strings.Join(invitation.Links, " ") != strings.Join(want, " ") {
		t.Errorf("links: got %q, want %q", invitation.Links, want)
	}
	proof := `{"code":"` + invitation.Code + `"}`
	w := browse(t, n, "POST", "/ui/session", proof, "Sec-Fetch-Site", "same-origin")
	if w.Code != 200 || !strings.Contains(w.Body.String(), `"via":"session"`) {
		t.Fatalf("sign in: got %d %s", w.Code, w.Body)
	}
	set := w.Header().Get("Set-Cookie")
	for _, word := range []string{"__Host-nodal-10250=", "Path=/;", "HttpOnly", "Secure", "SameSite=Strict", "Max-Age=43200"} {
		if !strings.Contains(set, word) {
			t.Errorf("cookie %q has no %s", set, word)
		}
	}
	cookie, _, _ := strings.Cut(set, ";")
	if w := browse(t, n, "POST", "/v1/manifests", manifestOf("web"), "Cookie", cookie, "Sec-Fetch-Site", "same-origin"); w.Code != 200 {
		t.Errorf("apply by cookie: got %d %s", w.Code, w.Body)
	}
	if w := browse(t, n, "POST", "/ui/session", proof, "Sec-Fetch-Site", "same-origin"); w.Code != 401 {
		t.Errorf("the same link once more: got %d, want 401", w.Code)
	}
	if w := browse(t, n, "POST", "/ui/code", "", "Cookie", cookie, "Sec-Fetch-Site", "same-origin"); w.Code != 403 {
		t.Errorf("a session makes a link: got %d, want 403", w.Code)
	}
	if w := browse(t, n, "DELETE", "/ui/session", "", "Cookie", cookie, "Sec-Fetch-Site", "same-origin"); w.Code != 204 {
		t.Errorf("sign out: got %d", w.Code)
	}
	if w := browse(t, n, "GET", "/v1/pods", "", "Cookie", cookie); w.Code != 401 {
		t.Errorf("after that: got %d, want 401", w.Code)
	}
}

func TestOtherPagesCannotUseASession(t *testing.T) {
	n := newNode(t, withReach, func(c *Config) { c.Front.Auth = newAuth(t, false) })
	w := browse(t, n, "POST", "/ui/session", `{"code":"`+invite(t, n, "admin").Code+`"}`)
	cookie, _, _ := strings.Cut(w.Header().Get("Set-Cookie"), ";")
	cases := []struct {
		name, method, path string
		headers            []string
		want               int
	}{
		{"the page itself reads", "GET", "/v1/pods", []string{"Sec-Fetch-Site", "same-origin"}, 200},
		{"an address that was typed in is read", "GET", "/v1/pods", []string{"Sec-Fetch-Site", "none"}, 200},
		{"another site reads", "GET", "/v1/pods", []string{"Sec-Fetch-Site", "cross-site"}, 401},
		{"another port of this host reads", "GET", "/v1/pods", []string{"Sec-Fetch-Site", "same-site"}, 401},
		{"another origin opens a WebSocket", "GET", "/v1/pods", []string{"Origin", "https://node:8443", "Upgrade", "websocket"}, 401},
		{"a page without TLS writes", "POST", "/v1/manifests", []string{"Origin", "http://node:10250"}, 401},
		{"another site writes", "POST", "/v1/manifests", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"a name that was made to lead here", "GET", "/v1/pods", []string{"Host", "evil.test:10250"}, 401},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if w := browse(t, n, c.method, c.path, "", append([]string{"Cookie", cookie}, c.headers...)...); w.Code != c.want {
				t.Errorf("got %d %s, want %d", w.Code, w.Body, c.want)
			}
		})
	}
}

func TestSigningInNeedsACredential(t *testing.T) {
	n := guarded(t)
	token := strings.TrimPrefix(tokenOf(t, "viewer"), "Bearer ")
	cases := []struct {
		name, body string
		want       int
	}{
		{"a token", `{"token":"` + token + `"}`, 200},
		{"a wrong token", `{"token":"nodal_x"}`, 401},
		{"a wrong code", `{"code":"x"}`, 401},
		{"nothing", `{}`, 401},
		{"no JSON", `token`, 400},
		{"a flood", `{"token":"` + strings.Repeat("x", dashboard.MaxProof) + `"}`, 413},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if w := browse(t, n, "POST", "/ui/session", c.body); w.Code != c.want {
				t.Errorf("got %d %s, want %d", w.Code, w.Body, c.want)
			}
		})
	}
	if got := n.do(t, "POST", "/ui/session", `{"token":"`+token+`"}`); got.status != http.StatusConflict {
		t.Errorf("without TLS: got %d, want 409", got.status)
	}
	if got := n.do(t, "POST", "/ui/code", "", "Authorization", tokenOf(t, string(auth.RoleAdmin))); got.status != http.StatusConflict {
		t.Errorf("a link to a node without a port: got %d, want 409", got.status)
	}
}
