package kubeletapi

import (
	"compress/gzip"
	"context"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	"nodal/node"
	"nodal/server/wire"
)

// SystemLogs serves the logs of the machine at /logs/.
type SystemLogs struct {
	Files    fs.FS // beneath /var/log
	Services ServiceLogs
	Off      bool // enableSystemLogHandler is off
	Query    bool // enableSystemLogQuery is on
}

// ServiceLogs writes the logs of services. Faults are lines of what it writes.
type ServiceLogs interface {
	Copy(context.Context, node.ServiceLogQuery, io.Writer) error
}

const (
	QueryTime  = 30 * time.Second // for an answer to a query, as upstream's
	QueryBytes = 256 << 20        // of an answer

	// CutNote ends an answer that would be longer.
	CutNote = "\nthe log is longer; ask for less of it, with sinceTime, untilTime or tailLines\n"
)

const logsPath = "/logs/"

// serve answers /logs/ and what is below it.
func (s SystemLogs) serve(w http.ResponseWriter, r *http.Request) {
	if s.Off {
		http.Error(w, "logs endpoint is disabled.", http.StatusMethodNotAllowed)
		return
	}
	below := strings.TrimPrefix(r.URL.Path, logsPath)
	if s.Query {
		query, errs := parseServiceQuery(r.URL.Query())
		switch {
		case len(errs) > 0:
			http.Error(w, errs.ToAggregate().Error(), http.StatusBadRequest)
			return
		case query != nil && below != "":
			http.Error(w, "path not allowed in query mode", http.StatusNotAcceptable)
			return
		case query != nil:
			if errs := query.check(s.Files); len(errs) > 0 {
				http.Error(w, errs.ToAggregate().Error(), http.StatusNotAcceptable)
				return
			}
			if len(query.Services) > 0 {
				s.services(w, r, query.ServiceLogQuery)
				return
			}
			below = query.file()
		}
	}
	s.file(w, r, below)
}

// services answers a query for services.
func (s SystemLogs) services(w http.ResponseWriter, r *http.Request, q node.ServiceLogQuery) {
	ctx, cancel := context.WithTimeout(r.Context(), QueryTime)
	defer cancel()
	response := &logResponse{w: w, control: http.NewResponseController(w)}
	defer wire.EndInTime(response.control)
	w.Header().Set("Content-Type", "text/plain;charset=UTF-8")
	harmless(w)
	out := &wire.Cut{To: response, Left: QueryBytes, Note: CutNote}
	if r.Header.Get("Accept-Encoding") == "gzip" {
		w.Header().Set("Content-Encoding", "gzip")
		packed, _ := gzip.NewWriterLevel(response, gzip.BestSpeed) // the level is a valid one
		defer packed.Close()
		out.To = packed
	}
	response.begin()
	if err := s.Services.Copy(ctx, q, out); ctx.Err() != nil && r.Context().Err() == nil && err != nil {
		_, _ = io.WriteString(out.To, CutNote)
	}
}

// file answers with a file or the list of a directory, as a file server does. A caller that is gone, or whose credential
// no longer counts, ends it.
func (s SystemLogs) file(w http.ResponseWriter, r *http.Request, below string) {
	control := http.NewResponseController(w)
	defer wire.EndInTime(control)
	harmless(w)
	asked := r.Clone(r.Context())
	asked.URL.Path, asked.URL.RawQuery = "/"+below, ""
	http.FileServerFS(s.Files).ServeHTTP(&steady{ResponseWriter: w, control: control, ctx: r.Context()}, asked)
}

// harmless has browsers take a file for what it is declared as, and run nothing of it: the dashboard has the same origin.
func harmless(w http.ResponseWriter) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Content-Security-Policy", "sandbox; default-src 'none'")
}

// steady writes as long as its reader reads and the request's context lasts. It hides that its writer could copy a whole
// file at once.
type steady struct {
	http.ResponseWriter
	control *http.ResponseController
	ctx     context.Context
}

func (s *steady) Write(p []byte) (n int, err error) {
	if s.ctx.Err() != nil {
		panic(http.ErrAbortHandler) // so that a file that is cut does not look whole
	}
	err = wire.InTime(s.control, func() error {
		n, err = s.ResponseWriter.Write(p)
		return err
	})
	return n, err
}

// clean returns the path of a file as package fs has it.
func clean(name string) string {
	return strings.TrimPrefix(path.Clean("/"+strings.ReplaceAll(name, `\`, "/")), "/")
}
