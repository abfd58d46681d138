package kube

import (
	"encoding/json"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"nodal/server/wire"
)

// form names the shape in which a client wants objects.
type form int

const (
	whole   form = iota // as they are
	tables              // as rows for people
	metas               // their metadata alone
	nothing             // that there is
)

// formOf reads the header Accept. The first form that there is wins.
func formOf(r *http.Request) form {
	accepted := strings.Split(strings.Join(r.Header.Values("Accept"), ","), ",")
	for _, text := range accepted {
		kind, params, err := mime.ParseMediaType(text)
		switch {
		case strings.TrimSpace(text) == "":
			return whole
		case err != nil:
		case kind != "application/json" && kind != "*/*" && kind != "application/*":
		case params["as"] == "Table" && params["g"] == "meta.k8s.io" && params["v"] == "v1":
			return tables
		case strings.HasPrefix(params["as"], "PartialObjectMetadata") && params["v"] == "v1":
			return metas
		case params["as"] == "":
			return whole
		}
	}
	return nothing
}

// accepts reports whether a client asks for the answer as another kind, as for aggregated discovery.
func accepts(r *http.Request, as string) bool {
	for text := range strings.SplitSeq(strings.Join(r.Header.Values("Accept"), ","), ",") {
		kind, params, err := mime.ParseMediaType(text)
		if err == nil && kind == "application/json" && params["as"] == as && params["v"] == "v2" {
			return true
		}
	}
	return false
}

func versionOf(revision int64) string { return strconv.FormatInt(revision, 10) }

// writeJSON answers with a value as JSON.
func writeJSON(w http.ResponseWriter, code int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	w.Header().Set("Cache-Control", "no-cache, private")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	control := http.NewResponseController(w)
	_ = wire.InTime(control, func() error { // a client that is gone gets no error
		_, err := w.Write(append(body, '\n'))
		return err
	})
}

// constant answers with the same value each time.
func constant(value any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, value) }
}
