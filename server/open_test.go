package server

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"nodal/node"
)

// signedIn returns the cookie of a browser that a link of the role has let in.
func signedIn(t *testing.T, n *node1, role string) string {
	t.Helper()
	w := browse(t, n, "POST", "/ui/session", `{"code":"`+invite(t, n, role).Code+`"}`, "Sec-Fetch-Site", "same-origin")
	cookie, _, _ := strings.Cut(w.Header().Get("Set-Cookie"), ";")
	if w.Code != 200 || cookie == "" {
		t.Fatalf("sign in: got %d %s", w.Code, w.Body)
	}
	return cookie
}

const webPort = `{"namespace":"default","name":"web","port":9,"scheme":"http"}`

// opened returns a node with a server in a pod, the cookie of an operator's browser, and the path at which it sees the server.
func opened(t *testing.T) (n *node1, cookie, path string) {
	n = newNode(t, withReach, func(c *Config) { c.Front.Auth = newAuth(t, false) })
	t.Cleanup(n.served(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/login" {
			http.Redirect(w, r, "/home", http.StatusFound)
			return
		}
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s prefix=%s credentials=%q%q%q body=%s", r.Method, r.RequestURI,
			r.Header.Get("X-Forwarded-Prefix"), r.Header.Get("Authorization"), r.Header.Get("Cookie"), r.Header.Get("Referer"), body)
	})))
	if w := browse(t, n, "POST", "/v1/manifests", podWithPort, "Authorization", tokenOf(t, "operator")); w.Code != 200 {
		t.Fatalf("apply: got %d %s", w.Code, w.Body)
	}
	n.run(t, "web", node.ContainerRunning)
	cookie = signedIn(t, n, "operator")
	w := browse(t, n, "POST", "/ui/open", webPort, "Cookie", cookie, "Sec-Fetch-Site", "same-origin")
	var answer struct{ Path string }
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != 200 || !strings.HasPrefix(answer.Path, "/ui/open/") {
		t.Fatalf("open: got %d %s", w.Code, w.Body)
	}
	return n, cookie, answer.Path
}

func TestABrowserSeesAServerInAPod(t *testing.T) {
	n, _, path := opened(t)
	base := strings.TrimSuffix(path, "/")
	// What a browser says of the parts of a page that has an origin of its own.
	ofPage := []string{"Sec-Fetch-Site", "cross-site", "Origin", "null", "Cookie", "other=1", "Authorization", "Basic eA==", "Referer", "https://node:10250/ui/"}
	for _, c := range []struct {
		name, method, path, body string
		want                     string
	}{
		{"its first page", "GET", "", "", `GET / prefix=` + base + ` credentials="""""" body=`},
		{"a part of it", "GET", "static/app.js?v=1", "", `GET /static/app.js?v=1 `},
		{"an escaped path", "GET", "a%2Fb", "", `GET /a%2Fb `},
		{"a form", "POST", "items", "one", `POST /items `},
		{"no other path of the node", "GET", "../../../../secrets", "", `GET /../../../../secrets `},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := browse(t, n, c.method, path+c.path, c.body, ofPage...)
			if w.Code != 200 || !strings.HasPrefix(w.Body.String(), c.want) || !strings.HasSuffix(w.Body.String(), "body="+c.body) {
				t.Errorf("got %d %s, want %s", w.Code, w.Body, c.want)
			}
			h := w.Header()
			if h.Get("Access-Control-Allow-Origin") != "*" || h.Get("Referrer-Policy") != "no-referrer" || !strings.Contains(h.Get("Content-Security-Policy"), "sandbox") ||
				strings.Contains(h.Get("Content-Security-Policy"), "allow-same-origin") {
				t.Errorf("headers: got %v", h)
			}
		})
	}
	if got := browse(t, n, "GET", path+"login", "", ofPage...).Header().Get("Location"); got != base+"/home" {
		t.Errorf("redirect: got %q, want below %s", got, base)
	}
	if w := browse(t, n, "OPTIONS", path+"items", "", append(ofPage, "Access-Control-Request-Method", "PUT")...); w.Code != 204 || w.Header().Get("Access-Control-Allow-Methods") != "*" {
		t.Errorf("before a request: got %d %v", w.Code, w.Header())
	}
}

func TestAnOpenPortEndsWithItsSession(t *testing.T) {
	n, cookie, path := opened(t)
	if w := browse(t, n, "GET", strings.TrimSuffix(path, "/")+"x/", ""); w.Code != 404 {
		t.Errorf("another secret: got %d", w.Code)
	}
	if w := browse(t, n, "DELETE", "/ui/session", "", "Cookie", cookie, "Sec-Fetch-Site", "same-origin"); w.Code != 204 {
		t.Fatalf("sign out: got %d", w.Code)
	}
	if w := browse(t, n, "GET", path, ""); w.Code != 401 {
		t.Errorf("after the sign-out: got %d %s, want 401", w.Code, w.Body)
	}
}

func TestAnOpenPortEndsWithItsPod(t *testing.T) {
	n, cookie, path := opened(t)
	for range 2 {
		if w := browse(t, n, "GET", path, ""); w.Code != 200 {
			t.Fatalf("the pod that was opened: got %d %s", w.Code, w.Body)
		}
	}
	w := browse(t, n, "POST", "/ui/open", webPort, "Cookie", cookie, "Sec-Fetch-Site", "same-origin")
	var while struct{ Path string }
	if err := json.Unmarshal(w.Body.Bytes(), &while); err != nil {
		t.Fatalf("open once more: got %d %s", w.Code, w.Body)
	}
	n.forget(t, "web")
	if w := browse(t, n, "GET", while.Path, ""); w.Code != 404 {
		t.Errorf("while there is no pod: got %d %s, want 404", w.Code, w.Body)
	}
	if w := browse(t, n, "POST", "/v1/manifests", podWithPort, "Authorization", tokenOf(t, "operator")); w.Code != 200 {
		t.Fatalf("apply again: got %d %s", w.Code, w.Body)
	}
	n.run(t, "web", node.ContainerRunning)
	for name, path := range map[string]string{"opened before": path, "closed meanwhile": while.Path} {
		for range 2 {
			if w := browse(t, n, "GET", path, ""); w.Code != 404 {
				t.Errorf("another pod of the name, %s: got %d %s, want 404", name, w.Code, w.Body)
			}
		}
	}
}

func TestWhoMayOpenPorts(t *testing.T) {
	n, cookie, _ := opened(t)
	for _, c := range []struct {
		name, method, body string
		headers            []string
		want               int
	}{
		{"a stranger", "POST", webPort, nil, 401},
		{"a viewer's browser", "POST", webPort, []string{"Cookie", signedIn(t, n, "viewer"), "Sec-Fetch-Site", "same-origin"}, 403},
		{"a token, which has the proxy of the Kubernetes API", "POST", webPort, []string{"Authorization", tokenOf(t, "operator")}, 409},
		{"another site's page", "POST", webPort, []string{"Cookie", cookie, "Sec-Fetch-Site", "cross-site"}, 403},
		{"by reading", "GET", "", []string{"Cookie", cookie, "Sec-Fetch-Site", "same-origin"}, 405},
		{"without a port", "POST", `{"namespace":"default","name":"web","scheme":"http"}`, []string{"Cookie", cookie, "Sec-Fetch-Site", "same-origin"}, 400},
		{"no scheme that browsers show", "POST", strings.Replace(webPort, "http", "ftp", 1), []string{"Cookie", cookie, "Sec-Fetch-Site", "same-origin"}, 400},
		{"more than a port's name", "POST", strings.Replace(webPort, "web", strings.Repeat("w", mostOpening), 1), []string{"Cookie", cookie, "Sec-Fetch-Site", "same-origin"}, 413},
		{"nothing", "POST", "", []string{"Cookie", cookie, "Sec-Fetch-Site", "same-origin"}, 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			if w := browse(t, n, c.method, "/ui/open", c.body, c.headers...); w.Code != c.want {
				t.Errorf("got %d %s, want %d", w.Code, w.Body, c.want)
			}
		})
	}
}

func TestPassagesCloseUnused(t *testing.T) {
	at := time.Unix(0, 0)
	d := newPassages(func() time.Time { return at })
	for i := range mostPassages {
		d.open[fmt.Sprint(i)] = passage{used: at.Add(time.Duration(i) * time.Second)}
	}
	d.makeRoom("ann")
	if _, ok := d.find("0"); ok || len(d.open) != mostPassages-1 {
		t.Errorf("of too many, the one that was used the longest ago stays: %d are open", len(d.open))
	}
	at = at.Add(passageLife)
	if _, ok := d.find("1"); !ok {
		t.Error("a passage that was used within the time is closed")
	}
	at = at.Add(passageLife)
	_, used := d.find("1")
	if _, unused := d.find("2"); !used || unused {
		t.Errorf("used a while ago: open %v; never used: open %v", used, unused)
	}
}

func TestAUserClosesNoPassagesOfOthers(t *testing.T) {
	n, cookie, path := opened(t)
	other := signedIn(t, n, "admin")
	for range mostPassages {
		if w := browse(t, n, "POST", "/ui/open", webPort, "Cookie", other, "Sec-Fetch-Site", "same-origin"); w.Code != 200 {
			t.Fatalf("open: got %d %s", w.Code, w.Body)
		}
	}
	if w := browse(t, n, "GET", path, ""); w.Code != 200 {
		t.Errorf("after all that another user has opened: got %d %s", w.Code, w.Body)
	}
	for range passagesEach {
		browse(t, n, "POST", "/ui/open", webPort, "Cookie", cookie, "Sec-Fetch-Site", "same-origin")
	}
	if w := browse(t, n, "GET", path, ""); w.Code != 404 {
		t.Errorf("after too many of the user's own: got %d, want 404", w.Code)
	}

	at := time.Unix(0, 0)
	d := newPassages(func() time.Time { return at })
	for i := range mostPassages {
		d.open[fmt.Sprint(i)] = passage{owner: fmt.Sprint("user", i/16), used: at.Add(time.Duration(i) * time.Second)}
	}
	d.makeRoom("user3")
	_, others := d.find("0")
	if _, own := d.find("48"); own || !others {
		t.Errorf("of too many: another's is open %v, the user's own %v", others, own)
	}
}
