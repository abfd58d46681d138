package kube

import (
	"iter"
	"reflect"
	"strings"
)

// jsonField is a field of a Go type, as JSON writes it.
type jsonField struct {
	reflect.StructField
	of      reflect.Type // the struct that declares it
	name    string
	options string
}

// jsonFields yields the fields that JSON writes of a struct, with those of structs that are written into it.
func jsonFields(of reflect.Type) iter.Seq[jsonField] {
	return func(yield func(jsonField) bool) {
		for field := range of.Fields() {
			name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
			switch {
			case !field.IsExported() || name == "-":
			case field.Anonymous && name == "":
				for inner := range jsonFields(field.Type) {
					if !yield(inner) {
						return
					}
				}
			case !yield(jsonField{field, of, name, options}):
				return
			}
		}
	}
}
