package kubeletapi

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/go-chi/chi/v5"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"nodal/node"
	"nodal/server/runs"
	"nodal/server/trace"
	"nodal/server/wire"
)

// Logs serves the logs of containers.
type Logs struct {
	Runs  runs.Logs
	Trace trace.Trace
	Now   func() time.Time
}

// read answers /containerLogs. Its errors are upstream's: 400 for a query
// that does not decode and for a log that is not there, 404 for an unknown pod
// or container, 422 for invalid values.
func (l Logs) read(w http.ResponseWriter, r *http.Request) {
	asked, err := decodeLogQuery(r.URL.Query())
	if err != nil {
		wire.WriteText(w, http.StatusBadRequest, `{"message": "Unable to decode query."}`)
		return
	}
	if !valid(asked) {
		wire.WriteText(w, http.StatusUnprocessableEntity, `{"message": "Invalid request."}`)
		return
	}
	pod, container := chi.URLParam(r, "pod"), chi.URLParam(r, "container")
	key := node.Key{Namespace: chi.URLParam(r, "namespace"), Name: pod}
	view, ok := l.Runs.Pods.View(key)
	if !ok {
		wire.WriteText(w, http.StatusNotFound, fmt.Sprintf("pod %q does not exist\n", pod))
		return
	}
	if runs.Declared(view, container) == nil {
		wire.WriteText(w, http.StatusNotFound, fmt.Sprintf("container %q not found in pod %q\n", container, pod))
		return
	}
	run, err := l.Runs.Find(runs.Wanted{Key: key, Container: container, Previous: asked.Previous})
	if err != nil {
		wire.WriteText(w, http.StatusBadRequest, err.Error())
		return
	}
	sink := &logResponse{w: w, control: http.NewResponseController(w)}
	defer wire.EndInTime(sink.control)
	ctx, end := follow(r.Context(), l.Trace, r)
	err = l.Runs.Read(ctx, run, optionsOf(asked, l.Now()), sink)
	end(err)
	switch {
	case err == nil || ctx.Err() != nil:
	case !sink.begun:
		wire.WriteText(w, http.StatusBadRequest, err.Error())
	default:
		// The header is sent. The answer can only be cut, so that it does not look complete.
		panic(http.ErrAbortHandler)
	}
}

// logResponse passes a log on in the pieces in which it comes, not line by line.
type logResponse struct {
	w       http.ResponseWriter
	control *http.ResponseController
	begun   bool // the header is sent
}

var _ node.LogSink = (*logResponse)(nil)

func (l *logResponse) Write(p []byte) (n int, err error) {
	l.begin()
	err = wire.InTime(l.control, func() error {
		n, err = l.w.Write(p)
		return err
	})
	return n, err
}

func (l *logResponse) Flush() error {
	l.begin()
	return wire.InTime(l.control, l.control.Flush)
}

func (l *logResponse) begin() {
	if !l.begun {
		l.w.Header().Set("Content-Type", wire.PlainText)
	}
	l.begun = true
}

// decodeLogQuery reads a query as Kubernetes does. The older parameter tail means tailLines,
// and its value "all" means no limit.
func decodeLogQuery(q url.Values) (corev1.PodLogOptions, error) {
	var o corev1.PodLogOptions
	if tail := q.Get("tail"); tail != "" && tail != "all" {
		q.Set("tailLines", tail)
	}
	var errs []error
	flag := func(name string, into *bool) {
		if values := q[name]; len(values) > 0 {
			errs = append(errs, runtime.Convert_Slice_string_To_bool(&values, into, nil))
		}
	}
	number := func(name string, into **int64) {
		if values := q[name]; len(values) > 0 {
			errs = append(errs, runtime.Convert_Slice_string_To_Pointer_int64(&values, into, nil))
		}
	}
	flag("follow", &o.Follow)
	flag("previous", &o.Previous)
	flag("timestamps", &o.Timestamps)
	number("sinceSeconds", &o.SinceSeconds)
	number("tailLines", &o.TailLines)
	number("limitBytes", &o.LimitBytes)
	if values := q["sinceTime"]; len(values) > 0 && values[0] != "" {
		o.SinceTime = &metav1.Time{}
		errs = append(errs, o.SinceTime.UnmarshalQueryParameter(values[0]))
	}
	if stream := q.Get("stream"); stream != "" {
		o.Stream = &stream
	}
	return o, errors.Join(errs...)
}

// valid reports whether the options keep the rules of Kubernetes' API server.
func valid(o corev1.PodLogOptions) bool {
	switch {
	case o.TailLines != nil && *o.TailLines < 0,
		o.LimitBytes != nil && *o.LimitBytes < 1,
		o.SinceSeconds != nil && *o.SinceSeconds < 1,
		o.SinceSeconds != nil && o.SinceTime != nil:
		return false
	}
	if o.Stream == nil || *o.Stream == corev1.LogStreamAll {
		return true
	}
	known := *o.Stream == corev1.LogStreamStdout || *o.Stream == corev1.LogStreamStderr
	return known && o.TailLines == nil
}

func optionsOf(o corev1.PodLogOptions, now time.Time) node.LogOptions {
	options := node.LogOptions{Tail: o.TailLines, LimitBytes: o.LimitBytes, Timestamps: o.Timestamps, Follow: o.Follow}
	if o.SinceSeconds != nil {
		options.Since = runs.SecondsBefore(now, *o.SinceSeconds)
	}
	if o.SinceTime != nil {
		options.Since = o.SinceTime.Time
	}
	if o.Stream != nil {
		switch *o.Stream {
		case corev1.LogStreamStdout:
			options.Stream = node.LogStdout
		case corev1.LogStreamStderr:
			options.Stream = node.LogStderr
		}
	}
	return options
}
