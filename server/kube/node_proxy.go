package kube

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"nodal/node"
)

// NodeProxyRoot is the path below which the Kubernetes API has the kubelet's own paths.
const NodeProxyRoot = "/api/v1/nodes/{node}/proxy"

// NodeProxy serves one of the kubelet's own paths below NodeProxyRoot. An API server would pass such a request on to the node
// of the name; here there is one.
func NodeProxy(name string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked := chi.URLParam(r, "node"); asked != name {
			fail(w, fmt.Errorf("node %q: this one is %s: %w", asked, name, node.ErrNotFound))
			return
		}
		prefix := strings.Replace(NodeProxyRoot, "{node}", name, 1)
		http.StripPrefix(prefix, next).ServeHTTP(w, r)
	})
}
