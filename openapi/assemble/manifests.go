package main

import (
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	"nodal/node"
)

// manifests adds the kinds that may be posted to the document, under Kubernetes' own names. Each schema names its kind,
// as in the document of an API server.
func manifests(document object) {
	all := schemas{}
	all.addKind(reflect.TypeFor[corev1.Pod](), corev1.SchemeGroupVersion.WithKind("Pod"))
	for _, kind := range node.Kinds() {
		all.addKind(reflect.TypeOf(kind.New()).Elem(), kind.GroupVersionKind())
	}
	merge(at(document, "components"), object{"schemas": object(all)}, "schemas")
}

// schemas are the schemas of Go's structs, by name.
type schemas object

// addKind adds the type of a kind, with the name of the kind.
func (s schemas) addKind(t reflect.Type, is schema.GroupVersionKind) {
	s.add(t)
	s[nameOf(t)].(object)["x-kubernetes-group-version-kind"] = []any{
		object{"group": is.Group, "version": is.Version, "kind": is.Kind},
	}
}

// add adds a struct and the types of its fields.
func (s schemas) add(t reflect.Type) {
	if _, ok := s[nameOf(t)]; ok {
		return
	}
	properties := object{}
	s[nameOf(t)] = object{"type": "object", "properties": properties} // before its fields, which may hold it again
	s.fields(t, properties)
}

func (s schemas) fields(t reflect.Type, properties object) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "" && f.Anonymous:
			s.fields(f.Type, properties)
		case !slices.Contains(byTheNode, name):
			properties[name] = s.of(f.Type)
		}
	}
	describe(t, properties)
}

// byTheNode lists the fields that a manifest may carry and that the node ignores.
var byTheNode = []string{
	"status", "managedFields", "selfLink", "resourceVersion", "generation",
	"creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
}

func (s schemas) of(t reflect.Type) object {
	if written := asWritten(t); written != nil {
		return written
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.Struct:
		s.add(t)
		return object{"$ref": "#/components/schemas/" + nameOf(t)}
	case reflect.Slice:
		return object{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int32, reflect.Int64:
		return object{"type": "integer", "format": t.Kind().String()}
	default:
		return object{"type": "string"}
	}
}

// asWritten returns the schema of a type whose JSON differs from its Go form, or that allows only some values. It
// returns nil for any other type.
func asWritten(t reflect.Type) object {
	switch t {
	case reflect.TypeFor[[]byte]():
		return object{"type": "string", "format": "byte"}
	case reflect.TypeFor[resource.Quantity]():
		return object{"type": "string", "format": "quantity"}
	case reflect.TypeFor[intstr.IntOrString]():
		return object{"type": []any{"integer", "string"}}
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime]():
		return object{"type": "string", "format": "date-time"}
	}
	if values, ok := values()[t]; ok {
		return object{"type": "string", "enum": values}
	}
	if examples, ok := examples()[t]; ok {
		return object{"type": "string", "examples": examples}
	}
	return nil
}

// nameOf returns a type's name in Kubernetes' documents, such as io.k8s.api.core.v1.Pod.
func nameOf(t reflect.Type) string {
	path := strings.ReplaceAll(t.PkgPath(), "k8s.io/", "io.k8s.")
	return strings.ReplaceAll(path, "/", ".") + "." + t.Name()
}
