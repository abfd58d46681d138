package server

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"nodal/node"
	"nodal/server/wire"
)

// run is /run: the command is split at blanks, the answer is its raw output,
// whatever its label says.
func (k *kubelet) run(w http.ResponseWriter, r *http.Request) {
	command := strings.Split(r.FormValue("cmd"), " ")
	view, ok := k.named(w, r)
	if !ok {
		return
	}
	target, err := k.exec.target(view.Key, chi.URLParam(r, "container"), command)
	if err != nil {
		wire.WriteText(w, runCode(err), err.Error())
		return
	}
	// No time limit, as upstream: the command ends when its client goes away.
	ctx, end := k.follow(r.Context(), r)
	stdout, stderr, exit, err := k.exec.runtime.ExecSync(ctx, target.ID, command, 0)
	end(err)
	if err == nil && exit != 0 {
		err = fmt.Errorf("command '%s' exited with %d: %s", strings.Join(command, " "), exit, stderr)
	}
	if err != nil {
		wire.WriteText(w, http.StatusInternalServerError, err.Error())
		return
	}
	wire.WriteJSON(w, append(stdout, stderr...))
}

// runCode tells a request that is wrong from one that upstream, too, calls a
// failure of its own.
func runCode(err error) int {
	if errors.Is(err, node.ErrInvalid) {
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}
