package kubeletapi

import (
	"context"
	"errors"
	"strings"
	"testing"

	"nodal/server/metrics"
)

func TestHealthzTellsWhichCheckFailed(t *testing.T) {
	sick := errors.New("the loop stands still")
	cases := []struct {
		path string
		err  error
		code int
		body string
	}{
		{"/healthz", nil, 200, "ok"},
		{"/healthz?verbose", nil, 200, "[+]ping ok\n[+]log ok\n[+]syncloop ok\nhealthz check passed\n"},
		{"/healthz", sick, 500, "[+]ping ok\n[+]log ok\n[-]syncloop failed: reason withheld\nhealthz check failed\n"},
		{"/healthz?exclude=syncloop", sick, 200, "ok"},
		{"/healthz?verbose&exclude=syncloop", sick, 200, "[+]ping ok\n[+]log ok\n[+]syncloop excluded: ok\nhealthz check passed\n"},
		{"/healthz?verbose&exclude=x", nil, 200, "[+]ping ok\n[+]log ok\n[+]syncloop ok\nwarn: some health checks cannot be excluded: no matches for [\"x\"]\nhealthz check passed\n"},
		{"/healthz/ping", sick, 200, "ok"},
		{"/healthz/syncloop", nil, 200, "ok"},
		{"/healthz/syncloop", sick, 500, "internal server error: the loop stands still\n"},
		{"/healthz/nothing", nil, 404, "404: Page Not Found"},
	}
	for _, c := range cases {
		h := serve(Config{Health: Health{Alive: func(context.Context) error { return c.err }, Results: metrics.NewHealthChecks()}})
		for _, method := range []string{"GET", "HEAD", "POST"} {
			if code, body := ask(t, h, method, c.path, ""); code != c.code || body != c.body {
				t.Errorf("%s %s with %v: got %d %q, want %d %q", method, c.path, c.err, code, body, c.code, c.body)
			}
		}
	}
}

func TestResultsOfHealthChecksAreMetrics(t *testing.T) {
	sick := errors.New("the loop stands still")
	h := serve(Config{Health: Health{Alive: func(context.Context) error { return sick }, Results: metrics.NewHealthChecks()}})
	ask(t, h, "GET", "/healthz", "")
	ask(t, h, "GET", "/healthz?exclude=syncloop", "")
	code, body := ask(t, h, "GET", "/metrics/slis", "")
	for _, want := range []string{`{name="ping",status="success",type="healthz"} 2`, `{name="syncloop",status="error",type="healthz"} 1`} {
		if code != 200 || !strings.Contains(body, "kubernetes_healthchecks_total"+want+"\n") {
			t.Errorf("got %d %s, want %s", code, body, want)
		}
	}
}
