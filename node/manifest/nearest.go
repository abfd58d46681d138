package manifest

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"nodal/node/spelling"
)

// longestName is longer than any field's.
const longestName = 64

// meant asks whether another field was meant, for a path that leads to no field of a type: the
// field whose name is spelled most like the last key. It returns "" if none is close.
func meant(t reflect.Type, path string) string {
	keys := strings.Split(path, ".")
	for _, key := range keys[:len(keys)-1] {
		name, _, _ := strings.Cut(key, "[")
		if t = jsonFields(element(t))[name]; t == nil {
			return ""
		}
	}
	wrong := keys[len(keys)-1]
	if len(wrong) > longestName {
		return ""
	}
	nearest, least := "", 1+max(1, len(wrong)/3)
	for _, name := range slices.Sorted(maps.Keys(jsonFields(element(t)))) {
		if d := spelling.Distance(strings.ToLower(name), strings.ToLower(wrong)); d < least {
			nearest, least = name, d
		}
	}
	if nearest == "" {
		return ""
	}
	return "; did you mean " + nearest + "?"
}

// element returns the type of a field, or of its elements if it holds many.
func element(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t
}

// jsonFields returns the fields of a struct by their JSON names, those of inlined structs too.
func jsonFields(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	if t.Kind() != reflect.Struct {
		return fields
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			maps.Copy(fields, jsonFields(element(f.Type)))
		} else if name != "" && name != "-" {
			fields[name] = f.Type
		}
	}
	return fields
}
