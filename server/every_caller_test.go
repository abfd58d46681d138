//go:build !race

// Some fifty thousand requests, one after another: the race detector makes them four times slower and finds nothing in
// them. The other tests ask at the same time.
package server

import (
	"slices"
	"testing"

	"nodal/server/auth"
)

// TestTheWholeMatrix asks for everything that testdata/routes.txt lists, as each caller, through each door that is open
// to it: gRPC by either server, HTTP/1.1 and HTTP/2, the socket, a browser's session, and the ports without credentials.
// What each answer has to be follows from the listed right and scope by verdictOf, and what the audit log has to hold
// from that. Neither asks the code that decides. A verb that is not listed for a path is not served to any caller.
func TestTheWholeMatrix(t *testing.T) {
	w := newWorld(t, nil)
	w.askAll(t, w.callers(t))
}

// TestTheMatrixWhereAnybodyIsAnonymous is the matrix of a node whose configuration file lets anonymous callers in, and
// which asks no cluster.
func TestTheMatrixWhereAnybodyIsAnonymous(t *testing.T) {
	w := newWorld(t, func(c *auth.Config) { c.Anonymous, c.OtherTokens, c.Tokens, c.Access = true, true, nil, nil })
	anybody := func(name, bearer string) caller {
		return caller{name: name, user: "system:anonymous", via: "anonymous", bearer: bearer}
	}
	w.askAll(t, []caller{
		anybody("nobody", ""), anybody("a token that means nothing to this node", "getter"),
		{name: "a wrong token of a node", bearer: "nodal_wrong"},
		{name: "viewer by token", user: "viewer", role: "viewer", via: "token", bearer: w.credential(t, "viewer.token")},
	})
}

// askAll asks for everything as each of the callers.
func (w *world) askAll(t *testing.T, callers []caller) {
	asked := 0
	for _, c := range callers {
		t.Run(c.name, func(t *testing.T) {
			for _, d := range w.doors(t, c) {
				for _, line := range w.table {
					if !d.takes(line) || line.kube {
						continue
					}
					for _, namespace := range c.tries() {
						w.check(t, c, d, trial{line, namespace})
						asked++
					}
				}
			}
		})
	}
	t.Logf("%d requests", asked)
}

// TestTheMatrixOfTheKubernetesAPI asks for each path of the Kubernetes API as each caller through one door. What the
// log has to say of the calls behind them is checked in the matrix of those.
func TestTheMatrixOfTheKubernetesAPI(t *testing.T) {
	w := newWorld(t, nil)
	asked := 0
	for _, c := range w.callers(t) {
		t.Run(c.name, func(t *testing.T) {
			at := slices.IndexFunc(w.doors(t, c), func(d door) bool { return d.listener == "full" && !d.rpc })
			if at < 0 {
				return
			}
			d := w.doors(t, c)[at]
			for _, line := range w.table {
				if !line.kube || !d.takes(line) {
					continue
				}
				for _, namespace := range c.tries() {
					r := trial{line, namespace}
					asked++
					if want, got := verdictOf(c, d, r), d.ask(t, r); got.verdict() != want {
						t.Errorf("%s %s as %s by %s: %s (%s), want %s", r.verb, r.target(), c.name, d.name, got.verdict(), got, want)
					}
				}
			}
		})
	}
	t.Logf("%d requests", asked)
}
