package kube

import (
	"net/http"
	"runtime"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"k8s.io/apimachinery/pkg/version"

	"nodal/node"
	"nodal/server/auth"
)

// Route is one path. Its handler calls the node API, which checks the caller's right.
type Route struct {
	Method, Pattern string // AnyMethod stands for every method
	// Calls is the method of the node API, in full, that decides which callers may use the path. Without one all
	// may that the listener admits.
	Calls   string
	Scope   auth.Scope // narrower than that of the method; empty for the method's own
	Handler http.HandlerFunc
	Body    bool // has to be read whole before the handler runs
	Watched bool // is a list, or a watch if the request says so
}

// AnyMethod stands for every HTTP method.
const AnyMethod = "*"

// BodyTypes are the content types of bodies, beside JSON and YAML.
var BodyTypes = []string{jsonPatch, mergePatch, strategicPatch, applyPatch, protobufType}

// Routes returns the paths of the Kubernetes API. The connection leads to the node API.
func Routes(conn grpc.ClientConnInterface, rights Rights) []Route {
	c := clientsOf(conn)
	asked := &reviews{rights: rights, clients: c}
	table := append(resources(c), asked.reviewed()...)
	asked.table = table
	routes := []Route{
		{Method: "GET", Pattern: "/version", Handler: constant(build())},
		{Method: "GET", Pattern: "/api", Handler: coreDiscovery(table)},
		{Method: "GET", Pattern: "/apis", Handler: groupDiscovery(table)},
		{Method: "GET", Pattern: "/openapi/v3", Handler: schemaIndex(table)},
	}
	for _, gv := range groupVersions(table) {
		in := slices.Collect(of(table, gv))
		routes = append(routes,
			Route{Method: "GET", Pattern: rootOf(gv), Handler: constant(resourceList(gv, in))},
			Route{Method: "GET", Pattern: "/openapi/v3" + rootOf(gv), Handler: schemas(in)},
		)
		if gv.Group != "" {
			routes = append(routes, Route{Method: "GET", Pattern: "/apis/" + gv.Group, Handler: constant(groupOf(gv))})
		}
	}
	for _, r := range table {
		routes = append(routes, r.routes(c)...)
	}
	return routes
}

// build says which version of Kubernetes' API this is.
func build() version.Info {
	major, minor, _ := strings.Cut(node.KubernetesMinor, ".")
	return version.Info{
		Major: major, Minor: minor, GitVersion: node.KubernetesVersion, GoVersion: runtime.Version(), Compiler: runtime.Compiler,
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
}

// Serves reports whether a path, after its method, belongs to the Kubernetes API.
func Serves(route string) bool {
	_, path, _ := strings.Cut(route, " ")
	return slices.ContainsFunc([]string{"/version", "/api", "/apis", "/openapi/v3"}, func(root string) bool {
		return path == root || strings.HasPrefix(path, root+"/")
	})
}

// Refuse answers a caller that may not make a request.
func Refuse(w http.ResponseWriter, err error) { fail(w, err) }

// routes returns the paths of one resource.
func (r *resource) routes(c clients) []Route {
	all := r.root() + "/" + r.plural
	if r.review != nil {
		return []Route{{Method: "POST", Pattern: all, Handler: r.review, Body: true}}
	}
	within := all
	if r.namespaced {
		within = r.root() + "/namespaces/{namespace}/" + r.plural
	}
	one := within + "/{name}"
	// A method that takes every kind leaves it to the request whether it is about the whole node.
	about, changes := r.scope, auth.Scope("")
	if _, kept := r.source.(objects); kept && !r.namespaced {
		about, changes = auth.WholeNode, auth.WholeNode
	} else if r.put != "" {
		changes = auth.OneNamespace
	}
	read, write := reader{r}, writer{r, c, ownersOf(r)}
	routes := []Route{
		{"GET", all, r.list, about, read.list, false, r.watch != ""},
		{"GET", one, r.get, about, read.get, false, false},
	}
	if r.namespaced {
		routes = append(routes, Route{"GET", within, r.list, about, read.list, false, r.watch != ""})
	}
	if r.put != "" {
		routes = append(routes, Route{"POST", within, r.put, changes, write.create, true, false},
			Route{"PUT", one, r.put, changes, write.update, true, false}, Route{"PATCH", one, r.put, changes, write.patch, true, false})
	}
	if r.remove != "" {
		routes = append(routes, Route{"DELETE", one, r.remove, changes, write.remove, true, false},
			Route{"DELETE", within, r.remove, changes, write.removeAll, true, false})
	}
	if r.alter != "" {
		routes = append(routes, Route{"PUT", one, r.alter, auth.WholeNode, write.changeNode, true, false},
			Route{"PATCH", one, r.alter, auth.WholeNode, write.changeNode, true, false})
	}
	if _, kept := r.source.(objects); kept {
		routes = append(routes, write.workloadRoutes(one)...)
	}
	if _, ok := r.source.(pods); ok {
		routes = append(routes, write.podRoutes(one)...)
	}
	return routes
}
