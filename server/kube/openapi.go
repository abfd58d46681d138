package kube

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"

	"nodal/server/wire"
)

// schemaIndex lists the documents of schemas, one for each group and version.
func schemaIndex(table []*resource) http.HandlerFunc {
	type place struct {
		URL string `json:"serverRelativeURL"`
	}
	paths := map[string]place{}
	for _, gv := range groupVersions(table) {
		paths[strings.TrimPrefix(rootOf(gv), "/")] = place{"/openapi/v3" + rootOf(gv)}
	}
	return constant(map[string]any{"paths": paths})
}

// schemas answers with the OpenAPI document of the resources of one group and version. It is made when it is first read.
func schemas(in []*resource) http.HandlerFunc {
	text := sync.OnceValues(func() ([]byte, error) { return json.Marshal(document(in)) })
	return func(w http.ResponseWriter, _ *http.Request) {
		body, err := text()
		if err != nil {
			fail(w, err)
			return
		}
		w.Header().Set("Vary", "Accept")
		wire.WriteJSON(w, body)
	}
}

type dict = map[string]any

func document(in []*resource) dict {
	types, paths := schemaSet{}, dict{}
	for _, r := range in {
		name := types.add(r.object)
		gvk := dict{"group": r.Group, "version": r.Version, "kind": r.Kind}
		types[name]["x-kubernetes-group-version-kind"] = []any{gvk}
		for _, route := range r.routes(clients{}) {
			path, ok := paths[route.Pattern].(dict)
			if !ok {
				path = dict{"parameters": parametersIn(route.Pattern)}
				paths[route.Pattern] = path
			}
			path[strings.ToLower(route.Method)] = operation(route, name, gvk)
		}
	}
	return dict{
		"openapi": "3.0.0", "info": dict{"title": "Kubernetes on one node", "version": "unversioned"},
		"paths": paths, "components": dict{"schemas": types},
	}
}

// operation describes a path with a method. Clients look in it for what they may ask.
func operation(of Route, name string, gvk dict) dict {
	content := dict{"application/json": dict{"schema": refTo(name)}}
	described := dict{
		"x-kubernetes-group-version-kind": gvk,
		"responses":                       dict{"200": dict{"description": "OK", "content": content}},
	}
	if of.Body && of.Method != http.MethodDelete {
		described["parameters"] = queries("dryRun", "fieldManager", "fieldValidation")
		if of.Method == http.MethodPatch {
			described["parameters"] = queries("dryRun", "fieldManager", "fieldValidation", "force")
		}
		described["requestBody"] = dict{"content": content}
	}
	return described
}

func queries(names ...string) (all []any) {
	for _, name := range names {
		all = append(all, dict{"name": name, "in": "query", "schema": dict{"type": "string"}})
	}
	return all
}

func parametersIn(pattern string) (all []any) {
	for _, name := range []string{"namespace", "name"} {
		if slices.Contains(strings.Split(pattern, "/"), "{"+name+"}") {
			all = append(all, dict{"name": name, "in": "path", "required": true, "schema": dict{"type": "string"}})
		}
	}
	return all
}

func refTo(name string) dict { return dict{"$ref": "#/components/schemas/" + name} }
