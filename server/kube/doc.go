// Package kube serves the Kubernetes API for what is on this node, so that kubectl and client-go can be used on it
// without an API server. It is a client of the node API like any other: each request becomes calls of that API, on a
// connection inside the process, where the caller's rights are checked.
//
//	HTTP ─▶ Routes ──┬─▶ discovery.go, openapi.go    what there is, from the table of resources
//	                 ├─▶ read.go ───▶ source ──┐     get, list and watch, as objects or as tables (table.go, columns.go),
//	                 │                         │     and lists in pages (pages.go)
//	                 ├─▶ write.go ──▶ source ──┴─▶ the node API
//	                 ├─▶ pod_parts.go                resize, eviction, ephemeral containers and status of a pod
//	                 ├─▶ proxy.go                    requests to servers in pods, over port-forwards
//	                 ├─▶ reviews.go ─▶ Rights        what the caller may do, by the table of all routes
//	                 └─▶ subresources.go             log, exec, attach and port-forward: the kubelet's own paths
//
// Changes keep account of the managers of fields (owners.go), for server-side apply (apply.go); merge_types.go says how it
// merges. resources.go is the table of resources. From it come paths, rights, discovery and schemas. A source gets the objects of
// a resource: pods.go, objects.go, events.go, namespaces.go, nodes.go and usage_source.go.
//
// A resourceVersion is a revision of the node. Errors are Kubernetes' Status (errors.go).
//
// Start reading at Routes in routes.go.
package kube
