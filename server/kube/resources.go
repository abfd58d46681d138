package kube

import (
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/server/auth"
)

// resource is one line of the table of resources.
type resource struct {
	schema.GroupVersionKind
	plural     string
	singular   string
	short      []string // as kubectl has them
	categories []string // and these
	namespaced bool
	object     runtime.Object // an empty one, whose type has the fields
	source     source
	columns    columns
	parts      []part
	// The methods of the node API that do what the verbs ask for. They say which right a caller needs. A resource without
	// put and remove cannot be changed.
	get, list, watch, put, remove string
	alter                         string           // does what update and patch ask for, where nothing can be created
	scope                         auth.Scope       // of get and list, if it is narrower than that of the methods
	review                        http.HandlerFunc // answers an object that is a question; there are no others of the resource
}

// part is a subresource.
type part struct {
	name, kind string
	of         schema.GroupVersion // of the kind; empty for that of the resource
	verbs      []string
}

func (r *resource) verbs() []string {
	if r.review != nil {
		return []string{"create"}
	}
	verbs := []string{"get", "list"}
	if r.watch != "" {
		verbs = append(verbs, "watch")
	}
	if r.put != "" {
		verbs = append(verbs, "create", "update", "patch")
	}
	if r.alter != "" {
		verbs = append(verbs, "update", "patch")
	}
	if r.remove != "" {
		verbs = append(verbs, "delete", "deletecollection")
	}
	slices.Sort(verbs)
	return verbs
}

// root is the path below which all resources of the group and version are.
func (r *resource) root() string { return rootOf(r.GroupVersion()) }

func rootOf(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "/api/" + gv.Version
	}
	return "/apis/" + gv.String()
}

// resources returns the table.
func resources(c clients) []*resource {
	all := []*resource{{
		GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Pod"),
		plural:           "pods", singular: "pod", short: []string{"po"}, categories: []string{"all"}, namespaced: true,
		object: new(corev1.Pod), source: pods{c}, columns: podColumns, parts: podParts,
		get: nodev1.PodsService_GetPod_FullMethodName, list: nodev1.PodsService_ListPods_FullMethodName,
		watch: nodev1.PodsService_WatchPods_FullMethodName, put: nodev1.ManifestsService_Apply_FullMethodName,
		remove: nodev1.PodsService_DeletePod_FullMethodName,
	}, {
		GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Event"),
		plural:           "events", singular: "event", short: []string{"ev"}, namespaced: true,
		object: new(corev1.Event), source: events{c, coreEvent}, columns: eventColumns,
		get: nodev1.EventsService_ListEvents_FullMethodName, list: nodev1.EventsService_ListEvents_FullMethodName,
		watch: nodev1.EventsService_WatchEvents_FullMethodName,
	}, {
		GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Namespace"),
		plural:           "namespaces", singular: "namespace", short: []string{"ns"},
		object: new(corev1.Namespace), source: namespaces{c}, columns: namespaceColumns,
		get: nodev1.PodsService_ListPods_FullMethodName, list: nodev1.PodsService_ListPods_FullMethodName,
		watch: nodev1.PodsService_WatchPods_FullMethodName,
	}, {
		GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Node"),
		plural:           "nodes", singular: "node", short: []string{"no"},
		object: new(corev1.Node), source: nodes{c}, columns: nodeColumns,
		get: nodev1.NodeService_GetNode_FullMethodName, list: nodev1.NodeService_GetNode_FullMethodName,
		watch: nodev1.NodeService_WatchNode_FullMethodName, alter: nodev1.NodeService_Cordon_FullMethodName,
	}, {
		GroupVersionKind: eventsv1.SchemeGroupVersion.WithKind("Event"),
		plural:           "events", singular: "event", short: []string{"ev"}, namespaced: true,
		object: new(eventsv1.Event), source: events{c, groupEvent}, columns: groupEventColumns,
		get: nodev1.EventsService_ListEvents_FullMethodName, list: nodev1.EventsService_ListEvents_FullMethodName,
		watch: nodev1.EventsService_WatchEvents_FullMethodName,
	}}
	for _, kind := range node.Kinds() {
		var short []string
		if kind.Short != "" {
			short = []string{kind.Short}
		}
		var categories []string
		if kind.Workload || kind.Name == node.Service {
			categories = []string{"all"}
		}
		all = append(all, &resource{
			GroupVersionKind: kind.GroupVersionKind(), plural: kind.Plural, singular: strings.ToLower(string(kind.Name)),
			short: short, categories: categories, namespaced: kind.Namespaced, parts: partsOf(kind),
			object: kind.New(), source: objects{c, kind}, columns: columnsOf(kind.Name),
			get: nodev1.ObjectsService_GetObject_FullMethodName, list: nodev1.ObjectsService_ListObjects_FullMethodName,
			watch: nodev1.ObjectsService_WatchObjects_FullMethodName, put: nodev1.ManifestsService_Apply_FullMethodName,
			remove: nodev1.ObjectsService_DeleteObject_FullMethodName,
		})
	}
	return append(all, usages(c)...)
}

// groupVersions returns the groups of the table with their version, in the order in which they first appear.
func groupVersions(table []*resource) (all []schema.GroupVersion) {
	for _, r := range table {
		if !slices.Contains(all, r.GroupVersion()) {
			all = append(all, r.GroupVersion())
		}
	}
	return all
}
