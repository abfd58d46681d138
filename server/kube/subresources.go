package kube

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-chi/chi/v5"
	"google.golang.org/grpc"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
)

// subresources are the parts of pods that the kubelet's own paths serve, by the first word of those.
var subresources = map[string]string{"attach": "attach", "containerLogs": "log", "exec": "exec", "portForward": "portforward"}

const subresourceRoot = "/api/v1/namespaces/{namespace}/pods/{pod}/"

// SubresourcePath returns the path of the Kubernetes API for one of the kubelet's own that is about a pod by its name. It
// returns nothing for others.
func SubresourcePath(kubelet string) string {
	words := strings.Split(strings.TrimPrefix(kubelet, "/"), "/")
	part, ok := subresources[words[0]]
	if !ok || strings.Contains(kubelet, "{uid}") || strings.HasSuffix(kubelet, "/") {
		return ""
	}
	return subresourceRoot + part
}

// IsSubresource reports whether a path of the Kubernetes API is such a one.
func IsSubresource(path string) bool { return strings.HasPrefix(path, subresourceRoot) }

// Subresource serves such a path by the handler of the kubelet's own: it names the container and the streams as that
// expects them.
func Subresource(conn grpc.ClientConnInterface, next http.Handler) http.Handler {
	c := clientsOf(conn)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		container := query.Get("container")
		ofPod := strings.HasSuffix(r.URL.Path, "/portforward")
		if container == "" && !ofPod {
			pod, err := c.pods.GetPod(r.Context(), &nodev1.GetPodRequest{
				Namespace: chi.URLParam(r, "namespace"), Name: chi.URLParam(r, "pod"),
			})
			if err == nil {
				container, err = containerOf(objectOf(pod.GetPod().GetObject()))
			}
			if err != nil {
				fail(w, err)
				return
			}
		}
		chi.RouteContext(r.Context()).URLParams.Add("container", container)
		r.SetPathValue("container", container)
		to := *r.URL
		to.RawQuery = streamsIn(query).Encode()
		r.URL = &to
		next.ServeHTTP(w, r)
	})
}

// streamsIn renames the streams of a query to the kubelet's words.
func streamsIn(query url.Values) url.Values {
	for theirs, ours := range map[string]string{
		"stdin": "input", "stdout": "output", "stderr": "error",
	} {
		if values, ok := query[theirs]; ok {
			query[ours] = values
			query.Del(theirs)
		}
	}
	query.Del("container")
	return query
}

const defaultContainer = "kubectl.kubernetes.io/default-container"

// containerOf returns the container that is meant if none is named.
func containerOf(pod *object) (string, error) {
	if name := pod.GetAnnotations()[defaultContainer]; name != "" {
		return name, nil
	}
	spec, _ := pod.Object["spec"].(map[string]any)
	containers, _ := spec["containers"].([]any)
	var names []string
	for _, c := range containers {
		fields, _ := c.(map[string]any)
		name, _ := fields["name"].(string)
		names = append(names, name)
	}
	if len(names) == 1 {
		return names[0], nil
	}
	return "", fmt.Errorf("pod %s has the containers %v; name one: %w", pod.GetName(), names, node.ErrInvalid)
}
