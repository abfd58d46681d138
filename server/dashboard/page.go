package dashboard

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"nodal/server/wire"
)

// Page serves the dashboard's files without authentication, as they hold no data of the node.
type Page struct {
	files fs.FS
	page  string // the file that is served at every path of the page
}

// New returns the page of a built dashboard. If there is none, the page says so.
func New(files fs.FS, built bool) *Page {
	if built {
		return &Page{files: files, page: "index.html"}
	}
	return &Page{files: files, page: "missing.html"}
}

const (
	root   = "/ui/"
	assets = "assets/" // named by their content

	// The page loads everything from the node and runs no inline script. A container's output
	// stays text.
	policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)

// Front serves the dashboard and its session, and passes other requests to next. It redirects
// a browser that opens / to the dashboard.
func (p *Page) Front(session, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == sessionPath || r.URL.Path == codePath:
			session.ServeHTTP(w, r)
		case strings.HasPrefix(r.URL.Path, root):
			p.ServeHTTP(w, r)
		case r.URL.Path == "/ui" || r.URL.Path == "/" && wantsPage(r):
			http.Redirect(w, r, root, http.StatusSeeOther)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func wantsPage(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html")
}

func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET")
		wire.WriteText(w, http.StatusMethodNotAllowed, "405: Method Not Allowed")
		return
	}
	name := path.Clean(strings.TrimPrefix(r.URL.Path, root))
	header := w.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Content-Security-Policy", policy)
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	switch {
	case strings.HasPrefix(name, assets):
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
	case path.Ext(name) != "":
		header.Set("Cache-Control", "no-cache")
	default:
		name = p.page // the page reads the path itself
		header.Set("Cache-Control", "no-cache")
	}
	p.send(w, r, name)
}

// send prefers the compressed form. If there is no file it sends the page, since the name of a
// pod in a path may contain a dot.
func (p *Page) send(w http.ResponseWriter, r *http.Request, name string) {
	data, encoding, ok := p.find(name, r.Header.Get("Accept-Encoding"))
	if !ok && !strings.HasPrefix(name, assets) {
		name = p.page
		data, encoding, ok = p.find(name, r.Header.Get("Accept-Encoding"))
	}
	if !ok {
		w.Header().Del("Cache-Control")
		wire.WriteText(w, http.StatusNotFound, "404: Page Not Found")
		return
	}
	header := w.Header()
	header.Set("Content-Type", contentType(name))
	header.Add("Vary", "Accept-Encoding")
	if encoding != "" {
		header.Set("Content-Encoding", encoding)
	}
	sum := sha256.Sum256(data)
	tag := `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
	header.Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if r.Method == http.MethodGet {
		_, _ = w.Write(data) // a client that is gone gets no error
	}
}

// contentType returns the type of a file, independent of the machine's /etc/mime.types.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".woff2":
		return "font/woff2"
	}
	return "application/octet-stream"
}

// find returns a file, compressed if the client accepts that.
func (p *Page) find(name, accept string) (data []byte, encoding string, ok bool) {
	if strings.Contains(accept, "gzip") {
		if data, err := fs.ReadFile(p.files, name+".gz"); err == nil {
			return data, "gzip", true
		}
	}
	if data, err := fs.ReadFile(p.files, name); err == nil {
		return data, "", true
	}
	packed, err := p.files.Open(name + ".gz")
	if err != nil {
		return nil, "", false
	}
	defer packed.Close()
	plain, err := gzip.NewReader(packed)
	if err != nil {
		return nil, "", false
	}
	data, err = io.ReadAll(plain)
	return data, "", err == nil
}
