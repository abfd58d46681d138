package manual

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
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
	texts func() (texts, error)
	api   func() ([]byte, error) // the OpenAPI document
	pages func() (shelf, error)  // they are listed when a caller first asks
	index func() (index, error)  // made when a caller first searches
	turn  chan struct{}          // holds one while a page is made: any stranger may ask for one
}

// New returns the manual of documents, and of the API that an OpenAPI document describes.
func New(documents func() (map[string][]byte, error), api func() ([]byte, error)) *Manual {
	m := &Manual{texts: func() (texts, error) { return documents() }, api: api, turn: make(chan struct{}, 1)}
	m.pages = sync.OnceValues(m.newPages)
	m.index = sync.OnceValues(m.newIndex)
	return m
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

// file makes what is at the path of a request, packed if the caller takes that. A caller that leaves waits no longer.
func (m *Manual) file(pages shelf, r *http.Request) (wire.File, error) {
	select {
	case m.turn <- struct{}{}:
		defer func() { <-m.turn }()
	case <-r.Context().Done():
		return wire.File{}, r.Context().Err()
	}
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

// plainFile makes what is at the path of a request.
func (m *Manual) plainFile(pages shelf, r *http.Request) (wire.File, error) {
	file := wire.File{Type: "text/html; charset=utf-8", Policy: policy, Cache: "no-cache"}
	p, known := pages.at(r.URL.Path)
	switch {
	case r.URL.Path == stylePath:
		file.Type, file.Body = "text/css; charset=utf-8", []byte(style)
		return file, nil
	case known && p.isText():
		source, err := m.text(p)
		file.Type, file.Body = "text/plain; charset=utf-8", source
		return file, err
	}
	shown, found, err := m.view(pages, r)
	if err != nil {
		return file, err
	}
	if !found {
		file.Code, shown.title = http.StatusNotFound, "No such page"
		shown.body = "<h1>There is no such page</h1>\n<p>Search for it above, or choose one from the list.</p>\n"
	}
	file.Body = []byte(framed(shown, pages.menu()))
	return file, nil
}

// view makes what a page shows. It reports false if there is no such page.
func (m *Manual) view(pages shelf, r *http.Request) (shown view, found bool, err error) {
	shown.address = r.URL.Path
	if name, ok := strings.CutPrefix(r.URL.Path, reference.address); ok {
		return m.reference(shown, strings.TrimPrefix(name, "/"))
	}
	if r.URL.Path == searchPath {
		shown.title, shown.query = "Search", r.URL.Query().Get("q")
		shown.body, err = m.answer(shown.query)
		return shown, true, err
	}
	p, known := pages.at(r.URL.Path)
	if !known {
		return shown, false, nil
	}
	source, err := m.text(p)
	if err != nil {
		return shown, false, err
	}
	shown.title = p.title
	shown.body, shown.sections, err = render(pages, p, source)
	return shown, true, err
}

// answer searches the documents and the API.
func (m *Manual) answer(query string) (string, error) {
	words := wordsOf(query)
	if len(words) == 0 {
		return answer(query, words, nil), nil
	}
	sections, err := m.index()
	return answer(query, words, sections.search(words)), err
}

// text returns the source of a page. All texts are unpacked for one page, which takes a release a few milliseconds.
func (m *Manual) text(p page) ([]byte, error) {
	all, err := m.texts()
	return all[p.source], err
}

func (m *Manual) newPages() (shelf, error) {
	all, err := m.texts()
	if err != nil {
		return nil, err
	}
	return newShelf(all)
}

// newIndex returns all sections, those of the documents before those of the API.
func (m *Manual) newIndex() (index, error) {
	pages, err := m.pages()
	if err != nil {
		return nil, err
	}
	api, err := readAPI(m.api)
	if err != nil {
		return nil, err
	}
	all, err := m.texts()
	if err != nil {
		return nil, err
	}
	return newIndex(all, pages, api.sections()), nil
}

// reference shows all calls of the API, or one type.
func (m *Manual) reference(shown view, name string) (view, bool, error) {
	api, err := readAPI(m.api)
	if err != nil {
		return shown, false, err
	}
	shown.address, shown.title = reference.address, reference.title
	if name == "" {
		shown.body, shown.sections = api.calls()
		return shown, true, nil
	}
	of, known := api.Components.Schemas[name]
	shown.title, shown.body = shortName(name), of.page(name)
	return shown, known, nil
}
