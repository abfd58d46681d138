package kubeletapi

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"nodal/server/metrics"
	"nodal/server/wire"
)

// healthCheck is one line of /healthz?verbose.
type healthCheck struct {
	name  string
	check func(context.Context) error
}

// Health checks that the agent works.
type Health struct {
	Alive func(context.Context) error // returns once the reconciler has turned
	// Results counts the results of /healthz, and writes them as metrics.
	Results *metrics.HealthChecks
}

// checks returns upstream's checks. Ping and log hold as long as the process answers.
func (h Health) checks() []healthCheck {
	fine := func(context.Context) error { return nil }
	return []healthCheck{{"ping", fine}, {"log", fine}, {"syncloop", h.loopTurns}}
}

// loopPatience bounds one turn of the reconciler, in which it waits for nothing.
const loopPatience = 5 * time.Second

func (h Health) loopTurns(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, loopPatience)
	defer cancel()
	return h.Alive(ctx)
}

// all answers ok, or which check failed. The check's own path gives the reason.
func (h Health) all(w http.ResponseWriter, r *http.Request) {
	excluded := r.URL.Query()["exclude"]
	var lines strings.Builder
	failed := false
	for _, c := range h.checks() {
		switch {
		case slices.Contains(excluded, c.name):
			excluded = slices.DeleteFunc(slices.Clone(excluded), func(name string) bool { return name == c.name })
			fmt.Fprintf(&lines, "[+]%s excluded: ok\n", c.name)
		case h.failed(r.Context(), c):
			failed = true
			fmt.Fprintf(&lines, "[-]%s failed: reason withheld\n", c.name)
		default:
			fmt.Fprintf(&lines, "[+]%s ok\n", c.name)
		}
	}
	if len(excluded) > 0 {
		fmt.Fprintf(&lines, "warn: some health checks cannot be excluded: no matches for %q\n", excluded)
	}
	_, verbose := r.URL.Query()["verbose"]
	switch {
	case failed:
		wire.WriteText(w, http.StatusInternalServerError, lines.String()+"healthz check failed\n")
	case verbose:
		wire.WriteText(w, http.StatusOK, lines.String()+"healthz check passed\n")
	default:
		wire.WriteText(w, http.StatusOK, "ok")
	}
}

// results answers /metrics/slis.
func (h Health) results(w http.ResponseWriter, r *http.Request) { h.Results.ServeHTTP(w, r) }

// failed makes a check, and counts its result.
func (h Health) failed(ctx context.Context, c healthCheck) bool {
	err := c.check(ctx)
	h.Results.Checked(c.name, err)
	return err != nil
}

// one answers for one check.
func (h Health) one(w http.ResponseWriter, r *http.Request) {
	name := chi.URLParam(r, "check")
	for _, c := range h.checks() {
		if c.name != name {
			continue
		}
		if err := c.check(r.Context()); err != nil {
			wire.WriteText(w, http.StatusInternalServerError, "internal server error: "+err.Error()+"\n")
			return
		}
		wire.WriteText(w, http.StatusOK, "ok")
		return
	}
	wire.WriteText(w, http.StatusNotFound, "404: Page Not Found")
}
