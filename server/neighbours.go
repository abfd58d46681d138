package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"nodal/node"
	"nodal/server/auth"
	"nodal/server/wire"
)

// Neighbours reads from other nodes.
type Neighbours interface {
	List() ([]node.Neighbour, error)
	// Get asks a node for a path. The answer lasts as long as ctx.
	Get(ctx context.Context, name, path, accept string) (*http.Response, error)
}

// noNeighbours stands for a node that shows no other.
type noNeighbours struct{}

var _ Neighbours = noNeighbours{}

func (noNeighbours) List() ([]node.Neighbour, error) { return nil, nil }

func (noNeighbours) Get(context.Context, string, string, string) (*http.Response, error) {
	return nil, node.ErrNotFound
}

const (
	neighboursPath = "/ui/at"
	// neighbourStreams bounds what one user has read from another node at a time.
	neighbourStreams = 64
)

// neighbourhood shows other nodes to the dashboard of this one. GET /ui/at lists them, and GET /ui/at/NAME/v1/... is asked of one
// of them, with the token that this node has of it. It may be asked for what a viewer may read, and changed in nothing. The
// path /ui/at/NAME/ui/session says as which user the other node knows this one.
type neighbourhood struct {
	nodes   Neighbours
	open    auth.Limiter
	stopped <-chan struct{} // closed when this node's server ends
}

func newNeighbourhood(nodes Neighbours, stopped <-chan struct{}) *neighbourhood {
	return &neighbourhood{nodes: nodes, open: auth.Limiter{Max: neighbourStreams}, stopped: stopped}
}

// Front serves what is asked of other nodes, for users who may read all of this node, and passes all else to next: pages too, which
// hold nothing of a node.
func (n *neighbourhood) Front(a *auth.Authenticator, known func(http.Handler) http.Handler, next http.Handler) http.Handler {
	terms := auth.Terms{Verb: auth.Read, Scope: auth.WholeNode}
	guarded := known(a.Kubelet(terms, a.Audited(auth.Read, http.HandlerFunc(n.serve))))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, _, ok := askedOf(r.URL.Path); ok || r.URL.Path == neighboursPath {
			guarded.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// askedOf splits a path into the name of a node and what is asked of it. It reports false for all that no other node is asked for.
func askedOf(whole string) (name, asked string, ok bool) {
	below, ok := strings.CutPrefix(whole, neighboursPath+"/")
	if !ok {
		return "", "", false
	}
	name, rest, _ := strings.Cut(below, "/")
	asked = "/" + rest
	if asked != path.Clean(asked) || asked != "/ui/session" && !strings.HasPrefix(asked, "/v1/") {
		return "", "", false
	}
	return name, asked, true
}

func (n *neighbourhood) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", http.MethodGet)
		wire.WriteStatusAs(w, http.StatusMethodNotAllowed, status.New(codes.Unimplemented, "other nodes are read only: sign in there to change something"))
		return
	}
	if r.URL.Path == neighboursPath {
		n.list(w)
		return
	}
	id, _ := auth.From(r.Context())
	name, _, _ := askedOf(r.URL.Path)
	id.Via += neighboursPath + "/" + name // each node has a count of its own
	release, err := n.open.Acquire(id)
	if err != nil {
		wire.WriteStatus(w, wire.StatusOf(err))
		return
	}
	defer release()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	go func() {
		select {
		case <-n.stopped:
			cancel()
		case <-ctx.Done():
		}
	}()
	n.pass(ctx, w, r)
}

// knownNode is a neighbour to the dashboard.
type knownNode struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

func (n *neighbourhood) list(w http.ResponseWriter) {
	found, err := n.nodes.List()
	if err != nil {
		wire.WriteStatus(w, status.New(codes.FailedPrecondition, err.Error()))
		return
	}
	all := make([]knownNode, 0, len(found))
	for _, one := range found {
		all = append(all, knownNode(one))
	}
	body, err := json.Marshal(map[string]any{"nodes": all})
	if err != nil {
		wire.WriteStatus(w, status.Convert(err))
		return
	}
	wire.WriteJSON(w, append(body, '\n'))
}

// pass asks a node and passes its answer on, as it comes. Nothing of the request goes there but its path, its query and the type of
// answer, and nothing of the answer comes back but its type, its time and its body. It ends with ctx.
func (n *neighbourhood) pass(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	_, asked, _ := askedOf(r.URL.EscapedPath())
	name, _, _ := askedOf(r.URL.Path)
	if asked == "" {
		wire.WriteStatus(w, status.New(codes.InvalidArgument, "this path means another one behind its escapes"))
		return
	}
	if r.URL.RawQuery != "" {
		asked += "?" + r.URL.RawQuery
	}
	answer, err := n.nodes.Get(ctx, name, asked, accepted(r))
	if errors.Is(err, node.ErrNotFound) {
		wire.WriteStatus(w, status.New(codes.NotFound, err.Error()))
		return
	}
	if err != nil {
		wire.WriteStatus(w, status.New(codes.Unavailable, err.Error()))
		return
	}
	defer answer.Body.Close()
	if code := answer.StatusCode; code < 200 || code >= 300 && code < 400 || code >= 600 {
		wire.WriteStatus(w, status.New(codes.Unavailable, fmt.Sprintf("the other node answers with HTTP %d, which is not followed", code)))
		return
	}
	h := w.Header()
	for _, kept := range []string{"Content-Type", "Date"} {
		if value := answer.Header.Get(kept); value != "" {
			h.Set(kept, value)
		}
	}
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	w.WriteHeader(answer.StatusCode)
	if err := copyOn(w, answer.Body); err != nil && r.Context().Err() == nil {
		// The answer is cut short and must not look complete. This panic makes net/http break the connection.
		panic(http.ErrAbortHandler)
	}
}

// accepted returns the types that the dashboard takes.
func accepted(r *http.Request) string {
	if strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		return "text/event-stream"
	}
	return "application/json, text/plain;q=0.9, */*;q=0.1"
}

// copyOn sends each part as it comes: a watch has to tell at once. Without an error, the whole is sent.
func copyOn(w http.ResponseWriter, from io.Reader) error {
	control, part := http.NewResponseController(w), make([]byte, 32<<10)
	defer wire.EndInTime(control)
	for {
		n, err := from.Read(part)
		if n > 0 {
			failed := wire.InTime(control, func() error {
				_, err := w.Write(part[:n])
				return errors.Join(err, control.Flush())
			})
			if failed != nil {
				return failed
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
