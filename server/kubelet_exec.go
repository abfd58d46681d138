package server

import (
	"context"
	"io"
	"net/http"

	"github.com/go-chi/chi/v5"
	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/store"
	framing "nodal/server/stream"
	"nodal/server/wire"
)

// runLive is /exec: a command with live streams, as kubectl and browsers speak
// it. Everything that can be wrong is told before the upgrade.
func (k *kubelet) runLive(w http.ResponseWriter, r *http.Request) {
	view, ok := k.named(w, r)
	if !ok {
		return
	}
	wanted, err := framing.WantedIn(r.URL.Query())
	if err != nil {
		wire.WriteText(w, http.StatusBadRequest, err.Error())
		return
	}
	key, command := view.Key, r.URL.Query()["command"]
	target, err := k.exec.target(key, chi.URLParam(r, "container"), command)
	if err != nil {
		wire.WriteText(w, runCode(err), err.Error())
		return
	}
	framing.Serve(w, r, wanted, func(ctx context.Context, s node.Streams) (int32, error) {
		ctx, end := k.follow(ctx, r)
		exit, err := k.exec.runtime.Exec(ctx, target.ID, command, s)
		end(err)
		if err != nil {
			return 0, notRun(command, key, err)
		}
		return exit, nil
	})
}

// named is the pod that a path names, with its UID or without.
func (k *kubelet) named(w http.ResponseWriter, r *http.Request) (store.View, bool) {
	view, ok := k.store.View(node.Key{Namespace: chi.URLParam(r, "namespace"), Name: chi.URLParam(r, "pod")})
	uid := chi.URLParam(r, "uid")
	if !ok || uid != "" && uid != string(view.Slot.Pod.UID()) {
		wire.WriteText(w, http.StatusNotFound, "pod does not exist")
		return store.View{}, false
	}
	return view, true
}

// attach is /attach: live streams to what a container runs. Whether that has a
// terminal was settled when it began.
func (k *kubelet) attach(w http.ResponseWriter, r *http.Request) {
	view, ok := k.named(w, r)
	if !ok {
		return
	}
	wanted, err := framing.WantedIn(r.URL.Query())
	if err != nil {
		wire.WriteText(w, http.StatusBadRequest, err.Error())
		return
	}
	container := chi.URLParam(r, "container")
	target, err := k.exec.running(view.Key, container)
	if err != nil {
		wire.WriteText(w, runCode(err), err.Error())
		return
	}
	framing.Serve(w, r, wanted, func(ctx context.Context, s node.Streams) (int32, error) {
		ctx, end := k.follow(ctx, r)
		if s.TTY = hasTerminal(view.Slot.Pod.Object, container); s.TTY {
			s.Stderr = nil
		}
		err := k.exec.runtime.Attach(ctx, target.ID, s)
		end(err)
		return 0, err
	})
}

func hasTerminal(object *corev1.Pod, container string) bool {
	for c := range node.EveryContainer(&object.Spec) {
		if c.Name == container {
			return c.TTY
		}
	}
	return false
}

// portForward is /portForward: connections to ports of a pod, as many as the client
// asks for.
func (k *kubelet) portForward(w http.ResponseWriter, r *http.Request) {
	view, ok := k.named(w, r)
	if !ok {
		return
	}
	sandbox, err := home(view)
	if err != nil {
		wire.WriteText(w, runCode(err), err.Error())
		return
	}
	framing.Forward(w, r, func(ctx context.Context, port int32, client io.ReadWriter) error {
		ctx, end := k.follow(ctx, r)
		err := k.exec.runtime.PortForward(ctx, sandbox.ID, port, client)
		end(err)
		return err
	})
}
