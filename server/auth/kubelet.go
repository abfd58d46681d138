package auth

import (
	"fmt"
	"net/http"
	"strings"
)

// Forbidden is the body of a 403 on a path of the kubelet, in upstream's words, which
// people paste into search engines and role editors.
func Forbidden(id Identity, r *http.Request) string {
	return fmt.Sprintf("Forbidden (user=%s, verb=%s, resource=nodes, subresource(s)=%v)",
		id.Name, apiVerb(r.Method), subresources(r.URL.Path))
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
