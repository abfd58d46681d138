package manual

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"nodal"
	"nodal/openapi"
)

// get asks the manual of the repository's own documents.
func get(t *testing.T, m *Manual, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	m.Front(http.NotFoundHandler()).ServeHTTP(w, r)
	return w
}

func documents(t *testing.T) texts {
	t.Helper()
	all, err := nodal.Documents()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func pagesOf(t *testing.T, from texts) shelf {
	t.Helper()
	pages, err := newShelf(from)
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

var (
	hrefs = regexp.MustCompile(`href="([^"]*)"`)
	ids   = regexp.MustCompile(`id="([^"]*)"`)
)

func TestEveryPageAnswersAndEveryLinkResolves(t *testing.T) {
	m, pages := New(nodal.Documents, openapi.Document), pagesOf(t, documents(t))
	if len(pages) < 80 {
		t.Fatalf("there are %d documents, want all of docs", len(pages))
	}
	api, err := readAPI(openapi.Document)
	if err != nil {
		t.Fatal(err)
	}
	pages = append(pages, page{source: "api.md", address: reference.address})
	anchors, links := map[string]bool{"/openapi.json": true}, map[string][]string{}
	for name, of := range api.Components.Schemas {
		anchors[reference.address+"/"+name] = true
		for _, href := range hrefs.FindAllStringSubmatch(of.page(name), -1) {
			links[name] = append(links[name], href[1])
		}
	}
	for _, p := range pages {
		got := get(t, m, p.address)
		if got.Code != 200 {
			t.Fatalf("%s: got %d %s", p.address, got.Code, got.Body)
		}
		anchors[p.address] = true
		if p.isText() {
			continue
		}
		body := got.Body.String()
		for _, id := range ids.FindAllStringSubmatch(body, -1) {
			anchors[p.address+"#"+id[1]] = true
		}
		for _, href := range hrefs.FindAllStringSubmatch(body, -1) {
			links[p.address] = append(links[p.address], href[1])
		}
	}
	for from, all := range links {
		for _, to := range all {
			if strings.HasPrefix(to, "#") {
				to = from + to
			}
			if strings.Contains(to, "://") || to == stylePath || strings.HasPrefix(to, "/ui/") {
				continue
			}
			if !anchors[to] {
				t.Errorf("%s links to %s, which is no page", from, to)
			}
		}
	}
}

func TestDocumentsLinkToNothingThatGoesUnseen(t *testing.T) {
	raw := regexp.MustCompile(`(?m)^\s*<[a-z]|[^<` + "`" + `]<(br|details|img|p|span|div|kbd|sub|sup)\b`)
	for _, p := range pagesOf(t, documents(t)) {
		source := documents(t)[p.source]
		text := string(source)
		if p.source == front { // pictures are not embedded: the dashboard is one click away
			text = regexp.MustCompile(`(?s)<picture>.*?</picture>`).ReplaceAllString(text, "")
		}
		if p.isText() {
			continue
		}
		if found := raw.FindString(regexp.MustCompile("(?s)```.*?```|`[^`\n]*`").ReplaceAllString(text, "")); found != "" {
			t.Errorf("%s has raw HTML, %q, which the node does not show: write Markdown", p.source, found)
		}
	}
}

func TestAddresses(t *testing.T) {
	m := New(nodal.Documents, openapi.Document)
	cases := []struct {
		path string
		code int
		to   string // the page that a redirect leads to, or what the answer holds
	}{
		{"/docs", 303, "/docs/"},
		{"/docs/", 200, "<h1 id=\"nodal\">Nodal</h1>"},
		{"/docs/cli", 200, "The command line"},
		{"/docs/CLI.md", 303, "/docs/cli"},
		{"/docs/Cli", 303, "/docs/cli"},
		{"/docs/README.md", 303, "/docs/"},
		{"/docs/decisions", 303, "/docs/decisions/"},
		{"/docs/decisions/", 200, "/docs/decisions/0001-one-loop"},
		{"/docs/examples/web.yaml", 200, "kind: Pod"},
		{"/docs/style.css", 200, "color-scheme: dark"},
		{"/docs/openapi", 200, "id=\"PodsService_GetPod\""},
		{"/docs/openapi/node.v1.GetPodResponse", 200, "href=\"/docs/openapi/node.v1.Pod\""},
		{"/docs/openapi/node.v1.Nothing", 404, "no such page"},
		{"/docs/nothing", 404, "no such page"},
		{"/docs/../etc/passwd", 404, "no such page"},
		{"/docs/%2e%2e/server.go", 404, "no such page"},
		{"/pods", 404, "404 page not found"},
	}
	for _, c := range cases {
		got := get(t, m, c.path)
		shown := got.Body.String()
		if c.code == 303 {
			shown = got.Header().Get("Location")
		}
		if got.Code != c.code || !strings.Contains(shown, c.to) {
			t.Errorf("%s: got %d %.200q, want %d with %q", c.path, got.Code, shown, c.code, c.to)
		}
	}
}

func TestASearchFindsSections(t *testing.T) {
	m := New(nodal.Documents, openapi.Document)
	anchors := map[string]bool{}
	for _, query := range []string{"port-forward", "exit codes", "hostPort", "TOKEN expires", "seccomp", "postgres", "gracePeriodSeconds"} {
		got := get(t, m, searchPath+"?q="+url.QueryEscape(query)).Body.String()
		main, _, _ := strings.Cut(got, "</main>")
		_, main, _ = strings.Cut(main, "<main")
		if !strings.Contains(main, "<mark>") {
			t.Errorf("%s: nothing is found: %s", query, main)
		}
		for _, href := range hrefs.FindAllStringSubmatch(main, -1) {
			page, id, _ := strings.Cut(href[1], "#")
			if !anchors[href[1]] && (id != "" && !strings.Contains(get(t, m, page).Body.String(), `id="`+id+`"`) || get(t, m, page).Code != 200) {
				t.Errorf("%s finds %s, which is no section of a page", query, href[1])
			}
			anchors[href[1]] = true
		}
	}
	first := hrefs.FindAllStringSubmatch(strings.SplitN(get(t, m, searchPath+"?q=exit+codes").Body.String(), `class="found"`, 2)[1], 1)
	if got := first[0][1]; got != "/docs/cli#exit-codes" {
		t.Errorf("the first of what is found by its heading: got %s", got)
	}
	for query, want := range map[string]string{"": "Type words", "   ": "Type words", "xyzzy plugh": "No section has all of", strings.Repeat("ж", 5000): "No section"} {
		if got := get(t, m, searchPath+"?q="+url.QueryEscape(query)).Body.String(); !strings.Contains(got, want) {
			t.Errorf("%.20q: got %.300q, want %q", query, got, want)
		}
	}
}

func TestASearchReadsTheDocumentsOnce(t *testing.T) {
	read := 0
	m := New(nodal.Documents, func() ([]byte, error) { read++; return openapi.Document() })
	for range 3 {
		if got := get(t, m, searchPath+"?q=pod").Body.String(); !strings.Contains(got, "<mark>") {
			t.Fatalf("nothing is found: %.300s", got)
		}
	}
	if read != 1 {
		t.Errorf("the API was read %d times, want once: any stranger may search", read)
	}
}

func TestACallerThatLeavesWaitsForNoPage(t *testing.T) {
	begun, end := make(chan struct{}), make(chan struct{})
	m := New(nodal.Documents, func() ([]byte, error) {
		close(begun)
		<-end
		return openapi.Document()
	})
	slow := make(chan int)
	go func() { slow <- get(t, m, reference.address).Code }()
	<-begun
	gone, leave := context.WithCancel(t.Context())
	leave()
	left := make(chan struct{})
	go func() {
		defer close(left)
		m.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(gone, http.MethodGet, root, nil))
	}()
	select {
	case <-left:
	case <-time.After(time.Minute):
		t.Error("a request whose caller has left still waits for the page of another")
	}
	close(end)
	if code := <-slow; code != http.StatusOK {
		t.Errorf("the page of the other: got %d, want 200", code)
	}
}

func TestTheTextOfASearchIsNeverHTML(t *testing.T) {
	readme := "# Nodal\n\nA `<script>alert(1)</script>` & more \"><img src=x onerror=a> here.\n<script>alert(2)</script>\n"
	api := `{"tags":[{"name":"<b>"}],"paths":{"/<b>":{"get":{"operationId":"<b>","summary":"<script>","tags":["<b>"]}}}}`
	documents := func() (map[string][]byte, error) { return texts{front: []byte(readme)}, nil }
	m := New(documents, func() ([]byte, error) { return []byte(api), nil })
	for _, query := range []string{`<script>`, `"><img src=x onerror=a>`, `&`, `'"<>`, "\x00<b>", "\xff<i>", `</title><script>alert(3)</script>`} {
		for _, path := range []string{searchPath + "?q=" + url.QueryEscape(query), "/docs/", "/docs/openapi"} {
			got := get(t, m, path).Body.String()
			for _, tag := range []string{"<script", "<img", "<b>", "<i>"} {
				if strings.Contains(got, tag) {
					t.Errorf("%s with %q holds %s:\n%s", path, query, tag, got)
				}
			}
		}
	}
	if got := get(t, m, searchPath+"?q=%3Cscript%3E").Body.String(); !strings.Contains(got, "<mark>&lt;script&gt;</mark>") {
		t.Errorf("the words that were searched are not marked: %s", got)
	}
}

func TestPagesAreForReadingAlone(t *testing.T) {
	m := New(nodal.Documents, openapi.Document)
	got := get(t, m, "/docs/volumes")
	if policy := got.Header().Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "script-src") || strings.Contains(policy, "unsafe") {
		t.Errorf("policy: got %q", policy)
	}
	if strings.Contains(got.Body.String(), " style=") {
		t.Error("the page has styles in attributes, which its policy forbids")
	}
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/docs/volumes", nil))
	if w.Code != 405 || w.Header().Get("Allow") != "GET" {
		t.Errorf("a post: got %d %v, want 405", w.Code, w.Header())
	}
	if again := get(t, m, "/docs/volumes", "If-None-Match", got.Header().Get("ETag")); again.Code != 304 || again.Body.Len() != 0 {
		t.Errorf("the same page again: got %d with %d bytes, want 304", again.Code, again.Body.Len())
	}
	small := get(t, m, "/docs/volumes", "Accept-Encoding", "gzip")
	unpacked, err := gzip.NewReader(small.Body)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(unpacked); err != nil || !bytes.Equal(text, got.Body.Bytes()) {
		t.Errorf("the packed page is another one: %v", err)
	}
}

func TestTheMenuHasTheOrderOfTheReadme(t *testing.T) {
	var got []string
	for _, p := range pagesOf(t, documents(t)).menu() {
		got = append(got, p.address)
	}
	if start := strings.Join(got[:4], " "); start != "/docs/ /docs/api /docs/openapi /docs/cli" {
		t.Errorf("the menu begins with %s", start)
	}
	if last := got[len(got)-1]; last != "/docs/decisions/" {
		t.Errorf("the menu ends with %s", last)
	}
	readme := documents(t)[front]
	for _, p := range pagesOf(t, documents(t)) {
		if strings.Count(p.source, "/") == 1 && !strings.Contains(string(readme), "]("+p.source+")") {
			t.Errorf("README.md has no link to %s", p.source)
		}
	}
}
