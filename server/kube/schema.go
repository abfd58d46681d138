package kube

import (
	"reflect"
	"strings"
)

// schemaSet holds schemas of Go types by the names that Kubernetes has for them. Descriptions come with the types.
type schemaSet map[string]dict

// Types of Kubernetes say by methods how they are named, what their fields mean, and how they look in JSON if not as their
// fields.
type (
	named     interface{ OpenAPIModelName() string }
	explained interface{ SwaggerDoc() map[string]string }
	formed    interface {
		OpenAPISchemaType() []string
		OpenAPISchemaFormat() string
	}
)

// add adds the schema of a value's type, with those that it needs, and returns its name.
func (s schemaSet) add(value any) string {
	return s.addType(reflect.Indirect(reflect.ValueOf(value)).Type())
}

func (s schemaSet) addType(of reflect.Type) string {
	name := of.String()
	if n, ok := reflect.Zero(of).Interface().(named); ok {
		name = n.OpenAPIModelName()
	}
	if _, known := s[name]; known {
		return name
	}
	made := dict{"type": "object"}
	s[name] = made // a type may hold itself
	docs := docsOf(of)
	if text := docs[""]; text != "" {
		made["description"] = text
	}
	fields, required := dict{}, []string{}
	s.fields(of, docs, fields, &required)
	if len(fields) > 0 {
		made["properties"] = fields
	}
	if len(required) > 0 {
		made["required"] = required
	}
	return name
}

func docsOf(of reflect.Type) map[string]string {
	if e, ok := reflect.Zero(of).Interface().(explained); ok {
		return e.SwaggerDoc()
	}
	return nil
}

// fields adds the fields of a struct, and those of structs that JSON writes into it.
func (s schemaSet) fields(of reflect.Type, docs map[string]string, into dict, required *[]string) {
	for i := range of.NumField() {
		field := of.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case !field.IsExported() || name == "-":
			continue
		case field.Anonymous && name == "":
			s.fields(field.Type, docsOf(field.Type), into, required)
			continue
		}
		made := s.of(field.Type)
		if _, ref := made["$ref"]; ref {
			made = dict{"allOf": []any{made}}
		}
		if text := docs[name]; text != "" {
			made["description"] = text
		}
		if how := field.Tag.Get("patchStrategy"); how != "" {
			made["x-kubernetes-patch-strategy"] = how
		}
		if key := field.Tag.Get("patchMergeKey"); key != "" {
			made["x-kubernetes-patch-merge-key"] = key
		}
		into[name] = made
		if !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") && field.Type.Kind() != reflect.Pointer {
			*required = append(*required, name)
		}
	}
}

// of returns the schema of a field's type.
func (s schemaSet) of(t reflect.Type) dict {
	if f, ok := reflect.Zero(t).Interface().(formed); ok && t.Kind() != reflect.Pointer {
		made := dict{"type": f.OpenAPISchemaType()[0]}
		if format := f.OpenAPISchemaFormat(); format != "" {
			made["format"] = format
		}
		return made
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.Struct:
		return refTo(s.addType(t))
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return dict{"type": "string", "format": "byte"}
		}
		return dict{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return dict{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.Bool:
		return dict{"type": "boolean"}
	case reflect.Int32, reflect.Uint32:
		return dict{"type": "integer", "format": "int32"}
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return dict{"type": "integer", "format": "int64"}
	case reflect.Float32, reflect.Float64:
		return dict{"type": "number", "format": "double"}
	}
	return dict{"type": "string"}
}
