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
	if text := docsOf(of)[""]; text != "" {
		made["description"] = text
	}
	fields, required := s.fields(of)
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

// fields returns the fields of a struct.
func (s schemaSet) fields(of reflect.Type) (fields dict, required []string) {
	fields = dict{}
	for field := range jsonFields(of) {
		made := s.of(field.Type)
		if _, ref := made["$ref"]; ref {
			made = dict{"allOf": []any{made}}
		}
		if text := docsOf(field.of)[field.name]; text != "" {
			made["description"] = text
		}
		if how := field.Tag.Get("patchStrategy"); how != "" {
			made["x-kubernetes-patch-strategy"] = how
		}
		if key := field.Tag.Get("patchMergeKey"); key != "" {
			made["x-kubernetes-patch-merge-key"] = key
		}
		fields[field.name] = made
		if !strings.Contains(field.options, "omitempty") && !strings.Contains(field.options, "omitzero") && field.Type.Kind() != reflect.Pointer {
			required = append(required, field.name)
		}
	}
	return fields, required
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
