package kubeletapi

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"nodal/node"
	"nodal/server/wire"
)

// run answers /run. The command is split at blanks. The answer is its raw output, whatever
// the content type says.
func (s Streams) run(w http.ResponseWriter, r *http.Request) {
	command := strings.Split(r.FormValue("cmd"), " ")
	view, ok := s.named(w, r)
	if !ok {
		return
	}
	target, err := s.Entrance.ForCommand(r.Context(), view.Key, chi.URLParam(r, "container"), command)
	if err != nil {
		wire.WriteText(w, runCode(err), err.Error())
		return
	}
	// No time limit, as upstream: the command ends when its client goes away.
	ctx, end := follow(r.Context(), s.Trace, r)
	stdout, stderr, exit, err := s.Containers.ExecSync(ctx, target.ID, command, 0)
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

// runCode returns 400 for a request that is wrong. All else upstream calls a failure of
// its own, too.
func runCode(err error) int {
	switch {
	case errors.Is(err, node.ErrInvalid):
		return http.StatusBadRequest
	case errors.Is(err, node.ErrDenied):
		return http.StatusForbidden
	}
	return http.StatusInternalServerError
}
