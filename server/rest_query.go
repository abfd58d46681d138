package server

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"nodal/node"
)

// parameters are the names that a query may hold below /v1, for each method and
// pattern: the fields of the request that are neither in the path nor in the body.
func parameters() map[string][]protoreflect.FieldDescriptor {
	known := map[string][]protoreflect.FieldDescriptor{}
	for full := range verbs() {
		method, rules := rulesOf(full)
		for _, rule := range rules {
			verb, pattern := ruleOf(rule)
			var left []protoreflect.FieldDescriptor
			for i := range method.Input().Fields().Len() {
				field := method.Input().Fields().Get(i)
				name := field.TextName()
				if rule.GetBody() != "*" && rule.GetBody() != name && !strings.Contains(pattern, "{"+name+"}") {
					left = append(left, field)
				}
			}
			known[verb+" "+pattern] = left
		}
	}
	return known
}

// rulesOf are the paths of a method, from its proto.
func rulesOf(full string) (protoreflect.MethodDescriptor, []*annotations.HttpRule) {
	name := strings.ReplaceAll(strings.TrimPrefix(full, "/"), "/", ".")
	found, _ := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
	method, ok := found.(protoreflect.MethodDescriptor)
	if !ok {
		return nil, nil
	}
	rule, _ := proto.GetExtension(method.Options(), annotations.E_Http).(*annotations.HttpRule)
	if rule == nil {
		return method, nil
	}
	return method, append([]*annotations.HttpRule{rule}, rule.GetAdditionalBindings()...)
}

func ruleOf(rule *annotations.HttpRule) (method, pattern string) {
	switch {
	case rule.GetGet() != "":
		return http.MethodGet, rule.GetGet()
	case rule.GetPut() != "":
		return http.MethodPut, rule.GetPut()
	case rule.GetPost() != "":
		return http.MethodPost, rule.GetPost()
	}
	return http.MethodDelete, rule.GetDelete()
}

// onlyKnown refuses what the gateway would pass by: a condition with a typing error
// in its name is none, and the request would do what its sender wanted to rule out.
func onlyKnown(known []protoreflect.FieldDescriptor, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := checkQuery(known, r.URL.RawQuery); err != nil {
			writeStatus(w, statusOf(err))
			return
		}
		next.ServeHTTP(w, r)
	})
}

func checkQuery(known []protoreflect.FieldDescriptor, raw string) error {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return fmt.Errorf("read query: %w: %w", err, node.ErrInvalid)
	}
	names := []string{}
	for _, field := range known {
		names = append(names, field.JSONName())
		delete(query, field.JSONName())
		delete(query, field.TextName())
	}
	if len(query) == 0 {
		return nil
	}
	asked := slices.Sorted(maps.Keys(query))
	return fmt.Errorf("query parameter %q is none of %v: %w", strings.Join(asked, ", "), names, node.ErrInvalid)
}
