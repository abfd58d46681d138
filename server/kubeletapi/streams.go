package kubeletapi

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"nodal/node"
	"nodal/node/store"
	"nodal/server/runs"
	framing "nodal/server/stream"
	"nodal/server/trace"
	"nodal/server/wire"
)

// Streams connects clients with containers and pods.
type Streams struct {
	Entrance   runs.Entrance
	Containers runs.Containers
	Trace      trace.Trace
	Idle       func() time.Duration // after which a silent connection is closed; zero means no limit
}

// exec answers /exec: a command with live streams, as kubectl and browsers expect them.
// Every error that can be found before the upgrade is answered before it.
func (s Streams) exec(w http.ResponseWriter, r *http.Request) {
	view, ok := s.named(w, r)
	if !ok {
		return
	}
	wanted, err := framing.WantedIn(r.URL.Query())
	if err != nil {
		wire.WriteText(w, http.StatusBadRequest, err.Error())
		return
	}
	key, command := view.Key, r.URL.Query()["command"]
	target, err := s.Entrance.ForCommand(r.Context(), key, chi.URLParam(r, "container"), command)
	if err != nil {
		wire.WriteText(w, runCode(err), err.Error())
		return
	}
	framing.Serve(w, r, wanted, s.Idle(), func(ctx context.Context, live node.Streams) (int32, error) {
		ctx, end := follow(ctx, s.Trace, r)
		exit, err := s.Containers.Exec(ctx, target.ID, command, live)
		end(err)
		if err != nil {
			return 0, runs.Failed(command, key, err)
		}
		return exit, nil
	})
}

// named returns the pod that a path names, with its UID or without. It answers if there is none.
func (s Streams) named(w http.ResponseWriter, r *http.Request) (store.View, bool) {
	view, ok := s.Entrance.Pods.View(node.Key{Namespace: chi.URLParam(r, "namespace"), Name: chi.URLParam(r, "pod")})
	uid := chi.URLParam(r, "uid")
	if !ok || uid != "" && uid != string(view.Slot.Pod.UID()) {
		wire.WriteText(w, http.StatusNotFound, "pod does not exist")
		return store.View{}, false
	}
	return view, true
}

// attach answers /attach: live streams of the container's main process. Whether that has a
// terminal was settled when it began.
func (s Streams) attach(w http.ResponseWriter, r *http.Request) {
	view, ok := s.named(w, r)
	if !ok {
		return
	}
	wanted, err := framing.WantedIn(r.URL.Query())
	if err != nil {
		wire.WriteText(w, http.StatusBadRequest, err.Error())
		return
	}
	container := chi.URLParam(r, "container")
	target, err := s.Entrance.Running(r.Context(), view.Key, container)
	if err != nil {
		wire.WriteText(w, runCode(err), err.Error())
		return
	}
	framing.Serve(w, r, wanted, s.Idle(), func(ctx context.Context, live node.Streams) (int32, error) {
		ctx, end := follow(ctx, s.Trace, r)
		if live.TTY = runs.HasTerminal(view, container); live.TTY {
			live.Stderr = nil
		}
		err := s.Containers.Attach(ctx, target.ID, live)
		end(err)
		return 0, err
	})
}

// portForward answers /portForward: connections to ports of a pod, as many as the client
// asks for.
func (s Streams) portForward(w http.ResponseWriter, r *http.Request) {
	view, ok := s.named(w, r)
	if !ok {
		return
	}
	sandbox, err := runs.Sandbox(view)
	if err != nil {
		wire.WriteText(w, runCode(err), err.Error())
		return
	}
	framing.Forward(w, r, s.Idle(), func(ctx context.Context, port int32, client io.ReadWriter) error {
		ctx, end := follow(ctx, s.Trace, r)
		err := s.Containers.PortForward(ctx, sandbox.ID, port, client)
		end(err)
		return err
	})
}

// follow begins to follow a request to one of the paths, in ctx.
func follow(ctx context.Context, t trace.Trace, r *http.Request) (context.Context, func(error)) {
	ctx, end := t(ctx, r.Method+" "+chi.RouteContext(r.Context()).RoutePattern(), r.Header.Get(trace.Parent),
		slog.String("k8s.namespace.name", chi.URLParam(r, "namespace")), slog.String("k8s.pod.name", chi.URLParam(r, "pod")))
	return ctx, func(err error) { end(nil, err) }
}
