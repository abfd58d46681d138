package manual

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"sync"

	"nodal/server/wire"
)

const (
	root       = "/docs/"
	stylePath  = root + "style.css"
	searchPath = root + "search"

	// The pages run nothing, load nothing but their style, and send nothing but a search.
	policy = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

//go:embed style.css
var style string

// Manual serves the documents.
type Manual struct {
	files fs.FS
	pages func() (shelf, error) // they are listed when a caller first asks
	alone sync.Mutex            // held while a page is made
}

// New returns the manual of documents.
func New(files fs.FS) *Manual {
	return &Manual{files: files, pages: sync.OnceValues(func() (shelf, error) { return newShelf(files) })}
}

// Front serves the documents without authentication, and passes other requests to next.
func (m *Manual) Front(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path+"/" == root:
			http.Redirect(w, r, root, http.StatusSeeOther)
		case strings.HasPrefix(r.URL.Path, root):
			m.ServeHTTP(w, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func (m *Manual) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !wire.ReadsOnly(w, r) {
		return
	}
	pages, err := m.pages()
	if err != nil {
		wire.WriteText(w, http.StatusInternalServerError, err.Error())
		return
	}
	if p, ok := pages.at(r.URL.Path); ok && p.address != r.URL.Path {
		http.Redirect(w, r, p.address, http.StatusSeeOther)
		return
	}
	file, err := m.file(pages, r)
	if err != nil {
		wire.WriteText(w, http.StatusInternalServerError, err.Error())
		return
	}
	wire.WriteFile(w, r, file)
}

// file makes what is at the path of a request, packed if the caller takes that.
func (m *Manual) file(pages shelf, r *http.Request) (wire.File, error) {
	m.alone.Lock()
	defer m.alone.Unlock()
	file, err := m.plainFile(pages, r)
	if err != nil || !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		return file, err
	}
	var packed bytes.Buffer
	out := gzip.NewWriter(&packed)
	if _, err := out.Write(file.Body); err != nil {
		return file, fmt.Errorf("pack %s: %w", r.URL.Path, err)
	}
	if err := out.Close(); err != nil {
		return file, fmt.Errorf("pack %s: %w", r.URL.Path, err)
	}
	file.Body, file.Encoding = packed.Bytes(), "gzip"
	return file, nil
}

func (m *Manual) plainFile(pages shelf, r *http.Request) (wire.File, error) {
	file := wire.File{Type: "text/html; charset=utf-8", Policy: policy, Cache: "no-cache"}
	shown := view{address: r.URL.Path}
	p, known := pages.at(r.URL.Path)
	switch {
	case r.URL.Path == stylePath:
		file.Type, file.Body = "text/css; charset=utf-8", []byte(style)
		return file, nil
	case r.URL.Path == searchPath:
		shown.query = r.URL.Query().Get("q")
		words := wordsOf(shown.query)
		all, err := search(m.files, pages, words)
		if err != nil {
			return file, err
		}
		shown.title, shown.body = "Search", answer(shown.query, words, all)
	case !known:
		file.Code, shown.title = http.StatusNotFound, "No such page"
		shown.body = "<h1>There is no such page</h1>\n<p>Search for it above, or choose one from the list.</p>\n"
	default:
		source, err := fs.ReadFile(m.files, p.source)
		if err != nil {
			return file, fmt.Errorf("read %s: %w", p.source, err)
		}
		if p.isText() {
			file.Type, file.Body = "text/plain; charset=utf-8", source
			return file, nil
		}
		shown.title = p.title
		if shown.body, shown.sections, err = render(pages, p, source); err != nil {
			return file, err
		}
	}
	file.Body = []byte(framed(shown, pages.menu()))
	return file, nil
}
