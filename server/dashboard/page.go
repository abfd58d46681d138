package dashboard

import (
	"compress/gzip"
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
	if !wire.ReadsOnly(w, r) {
		return
	}
	name, cache := path.Clean(strings.TrimPrefix(r.URL.Path, root)), "no-cache"
	switch {
	case strings.HasPrefix(name, assets):
		cache = "public, max-age=31536000, immutable"
	case path.Ext(name) == "":
		name = p.page // the page reads the path itself
	}
	p.send(w, r, name, cache)
}

// send prefers the compressed form. If there is no file it sends the page, since the name of a
// pod in a path may contain a dot.
func (p *Page) send(w http.ResponseWriter, r *http.Request, name, cache string) {
	data, encoding, ok := p.find(name, r.Header.Get("Accept-Encoding"))
	if !ok && !strings.HasPrefix(name, assets) {
		name = p.page
		data, encoding, ok = p.find(name, r.Header.Get("Accept-Encoding"))
	}
	if !ok {
		wire.WriteFile(w, r, wire.File{Code: http.StatusNotFound, Type: "text/plain; charset=utf-8", Policy: policy, Body: []byte("404: Page Not Found")})
		return
	}
	wire.WriteFile(w, r, wire.File{Type: contentType(name), Encoding: encoding, Policy: policy, Cache: cache, Body: data})
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
