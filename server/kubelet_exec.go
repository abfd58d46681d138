package server

import (
	"context"
	"net/http"

	"github.com/go-chi/chi/v5"

	"nodal/node"
	framing "nodal/server/stream"
)

// runLive is /exec: a command with live streams, as kubectl and browsers speak
// it. Everything that can be wrong is told before the upgrade.
func (k *kubelet) runLive(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	command := query["command"]
	key := node.Key{Namespace: chi.URLParam(r, "namespace"), Name: chi.URLParam(r, "pod")}
	view, ok := k.store.View(key)
	uid := chi.URLParam(r, "uid")
	if !ok || uid != "" && uid != string(view.Slot.Pod.UID()) {
		writeText(w, http.StatusNotFound, "pod does not exist")
		return
	}
	wanted, err := framing.WantedIn(query)
	if err != nil {
		writeText(w, http.StatusBadRequest, err.Error())
		return
	}
	target, err := k.exec.running(key, chi.URLParam(r, "container"), command)
	if err != nil {
		writeText(w, runCode(err), err.Error())
		return
	}
	framing.Exec(w, r, wanted, func(ctx context.Context, s framing.Streams) (int32, error) {
		exit, err := k.exec.runtime.Exec(ctx, target.ID, command, execStreamsOf(ctx, s))
		if err != nil {
			return 0, notRun(command, key, err)
		}
		return exit, nil
	})
}

func execStreamsOf(ctx context.Context, s framing.Streams) ExecStreams {
	streams := ExecStreams{Stdin: s.Stdin, Stdout: s.Stdout, Stderr: s.Stderr, TTY: s.TTY}
	if s.Resize == nil {
		return streams
	}
	sizes := make(chan TerminalSize)
	streams.Resize = sizes
	go func() {
		defer close(sizes)
		for size := range s.Resize {
			select {
			case sizes <- TerminalSize(size):
			case <-ctx.Done():
				return
			}
		}
	}()
	return streams
}
