package auth

import (
	"fmt"
	"net/http"
	"strings"
)

// forbidden is the body of a 403 on a path of the kubelet, in upstream's words, which
// people paste into search engines and role editors.
func forbidden(id Identity, asked []Access) string {
	var parts []string
	for _, a := range asked {
		parts = append(parts, a.Subresource)
	}
	return fmt.Sprintf("Forbidden (user=%s, verb=%s, resource=nodes, subresource(s)=%v)", id.Name, asked[0].Verb, parts)
}

// unanswered is the body of a 500 where neither a yes nor a 403 could be decided.
func unanswered(id Identity, asked []Access) string {
	return fmt.Sprintf("Authorization error (user=%s, verb=%s, resource=nodes, subresource=%s)", id.Name, asked[0].Verb, asked[0].Subresource)
}

// accesses returns the names of what a request asks for; a right to one of them is enough.
// Exec counts as create whatever the method: a WebSocket opens with a GET, and a caller that
// may only look must not get a shell by it.
func accesses(verb Verb, method, path string) []Access {
	name := apiVerb(method)
	if verb == Exec {
		name = "create"
	}
	var asked []Access
	for _, part := range subresources(path) {
		asked = append(asked, Access{name, part})
	}
	return asked
}

// lasts reports whether a request may last as long as its client likes: a session, a log, which may be followed or
// read slowly, and a profile, whose client says how long.
func lasts(verb Verb, r *http.Request) bool {
	path := OwnPath(r.URL.Path)
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return verb == Exec || first == "containerLogs" || first == "api" && strings.HasSuffix(path, "/log") || first == "logs" || first == "debug"
}

// OwnPath returns the kubelet's own path that a path below the proxy of the node means, and other paths as they are.
func OwnPath(path string) string {
	ofNode, ok := strings.CutPrefix(path, "/api/v1/nodes/")
	if _, own, proxied := strings.Cut(ofNode, "/proxy/"); ok && proxied {
		return "/" + own
	}
	return path
}

func apiVerb(method string) string {
	switch method {
	case http.MethodGet:
		return "get"
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		return "delete"
	}
	return ""
}

// subresources names what of the node a path is, the narrow name before the wide one:
// a role on either of them lets a request pass upstream.
func subresources(path string) []string {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch first {
	case "stats", "metrics", "checkpoint":
		return []string{first}
	case "logs":
		return []string{"log"}
	case "pods", "healthz", "configz", "statusz", "flagz":
		return []string{first, "proxy"}
	case "runningpods":
		return []string{"pods", "proxy"}
	}
	return []string{"proxy"}
}
