package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/server/wire"
)

// reader serves get, list and watch of one resource.
type reader struct{ *resource }

func (s reader) get(w http.ResponseWriter, r *http.Request) {
	as := formOf(r)
	if as == nothing {
		failAs(w, http.StatusNotAcceptable, errForm)
		return
	}
	found, err := s.source.get(r.Context(), chi.URLParam(r, "namespace"), chi.URLParam(r, "name"))
	if err != nil {
		s.fail(w, err, chi.URLParam(r, "name"))
		return
	}
	writeJSON(w, http.StatusOK, s.shown(as, found, found.GetResourceVersion()))
}

var errForm = fmt.Errorf("only application/json is served: %w", node.ErrUnsupported)

// list serves lists and watches.
func (s reader) list(w http.ResponseWriter, r *http.Request) {
	as, query := formOf(r), r.URL.Query()
	if as == nothing {
		failAs(w, http.StatusNotAcceptable, errForm)
		return
	}
	of := selection{
		namespace: chi.URLParam(r, "namespace"), labels: query.Get("labelSelector"), fields: query.Get("fieldSelector"),
	}
	if on, _ := strconv.ParseBool(query.Get("watch")); on {
		s.watch(w, r, of, as)
		return
	}
	part, err := pageOf(query)
	if err != nil {
		s.fail(w, err, "")
		return
	}
	all, revision, err := s.source.list(r.Context(), of)
	if err != nil {
		s.fail(w, err, "")
		return
	}
	if err := s.unmoved(r.Context(), of, part, revision); err != nil {
		s.failPage(w, err, part)
		return
	}
	all, meta := part.cut(all, revision, of.labels == "" && of.fields == "")
	writeJSON(w, http.StatusOK, s.listed(as, all, meta))
}

// shown returns an object as a client wants it.
func (s reader) shown(as form, one *object, version string) any {
	switch as {
	case tables:
		return s.columns.table([]*object{one}, metav1.ListMeta{ResourceVersion: version})
	case metas:
		return metaOf(one)
	}
	return one.Object
}

// listed returns a list as a client wants it.
func (s reader) listed(as form, all []*object, meta metav1.ListMeta) any {
	if as == tables {
		return s.columns.table(all, meta)
	}
	items := make([]any, len(all))
	for i, o := range all {
		items[i] = o.Object
		if as == metas {
			items[i] = metaOf(o)
		}
	}
	if as == metas {
		return listed{metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}, meta, items}
	}
	return listed{metav1.TypeMeta{APIVersion: s.GroupVersion().String(), Kind: s.Kind + "List"}, meta, items}
}

type listed struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ListMeta `json:"metadata"`
	Items           []any           `json:"items"`
}

// metaOf returns the metadata of an object alone.
func metaOf(o *object) map[string]any {
	return map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": o.Object["metadata"]}
}

// fail answers with an error, which names what it is about.
func (r *resource) fail(w http.ResponseWriter, err error, name string) {
	made := statusOf(err)
	if made.Details == nil {
		made.Details = &metav1.StatusDetails{}
	}
	made.Details.Group, made.Details.Kind, made.Details.Name = r.Group, r.plural, name
	if made.Reason == metav1.StatusReasonNotFound && name != "" {
		made.Message = fmt.Sprintf("%s %q not found", r.qualified(), name)
	}
	writeStatus(w, made)
}

// qualified is the name of the resource with its group.
func (r *resource) qualified() string {
	if r.Group == "" {
		return r.plural
	}
	return r.plural + "." + r.Group
}

const (
	bookmark   = "BOOKMARK"
	watchError = "ERROR"
)

var changeNames = map[nodev1.WatchType]string{
	nodev1.WatchType_WATCH_TYPE_ADDED: "ADDED", nodev1.WatchType_WATCH_TYPE_MODIFIED: "MODIFIED",
	nodev1.WatchType_WATCH_TYPE_DELETED: "DELETED", nodev1.WatchType_WATCH_TYPE_SYNCED: bookmark,
}

// watch sends changes until the client goes, or the time is over that it gives.
func (s reader) watch(w http.ResponseWriter, r *http.Request, of selection, as form) {
	asked, err := watchOf(r)
	if err != nil {
		s.fail(w, err, "")
		return
	}
	ctx := r.Context()
	if asked.lasts > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, asked.lasts)
		defer cancel()
	}
	out := &lines{w: w, control: http.NewResponseController(w)}
	err = s.source.watch(ctx, of, asked.since, func(c change) error {
		if c.kind == nodev1.WatchType_WATCH_TYPE_SYNCED {
			return s.mark(out, asked, c.revision)
		}
		c.object.SetResourceVersion(versionOf(c.revision))
		return out.send(changeNames[c.kind], s.shown(as, c.object, versionOf(c.revision)))
	})
	switch {
	case ctx.Err() != nil || errors.Is(err, io.EOF):
	case !out.begun:
		s.fail(w, err, "")
	default:
		_ = out.send(watchError, statusOf(err)) // the stream ends anyway
	}
}

// mark tells a client that wants to know that it has all there was. It begins the answer in any case.
func (s reader) mark(out *lines, asked watched, revision int64) error {
	if !asked.marks && !asked.initial {
		return out.begin()
	}
	at := &object{}
	at.SetGroupVersionKind(s.GroupVersionKind)
	at.SetResourceVersion(versionOf(revision))
	if asked.initial {
		at.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	return out.send(bookmark, at.Object)
}

// watched holds what a client asks of a watch.
type watched struct {
	since   int64 // a revision; 0 for all that there is
	marks   bool
	initial bool // the client waits for the mark
	lasts   time.Duration
}

func watchOf(r *http.Request) (watched, error) {
	query := r.URL.Query()
	var asked watched
	var err error
	asked.marks, _ = strconv.ParseBool(query.Get("allowWatchBookmarks"))
	asked.initial, _ = strconv.ParseBool(query.Get("sendInitialEvents"))
	if text := query.Get("timeoutSeconds"); text != "" {
		seconds, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return asked, fmt.Errorf("timeoutSeconds %q: not a number of seconds: %w", text, node.ErrInvalid)
		}
		asked.lasts = time.Duration(seconds) * time.Second
	}
	if text := query.Get("resourceVersion"); text != "" && !asked.initial {
		if asked.since, err = strconv.ParseInt(text, 10, 64); err != nil || asked.since < 0 {
			return asked, fmt.Errorf("resourceVersion %q: not a revision of the node: %w", text, node.ErrInvalid)
		}
	}
	return asked, nil
}

// lines writes the events of a watch, each in a line.
type lines struct {
	w       http.ResponseWriter
	control *http.ResponseController
	begun   bool
}

func (e *lines) begin() error {
	if e.begun {
		return nil
	}
	e.begun = true
	e.w.Header().Set("Content-Type", "application/json")
	e.w.Header().Set("Cache-Control", "no-cache, private")
	e.w.WriteHeader(http.StatusOK)
	return wire.InTime(e.control, e.control.Flush)
}

func (e *lines) send(kind string, value any) error {
	line, err := json.Marshal(struct {
		Type   string `json:"type"`
		Object any    `json:"object"`
	}{kind, value})
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	if err := e.begin(); err != nil {
		return err
	}
	return wire.InTime(e.control, func() error {
		if _, err := e.w.Write(append(line, '\n')); err != nil {
			return err
		}
		return e.control.Flush()
	})
}
