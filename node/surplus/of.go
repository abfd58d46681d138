package surplus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Tree is the surplus of one value. It is never written again, and nil is none.
type Tree struct {
	mark   string                     // of the value that it was said of
	fields map[string]json.RawMessage // that the type does not have
	below  map[string]*Tree           // by field that it has, key, or index in a list
}

// Of finds what JSON says beyond a type.
func Of(data []byte, t reflect.Type) (*Tree, error) {
	var value any
	if err := unmarshal(data, &value); err != nil {
		return nil, err
	}
	return find(value, t), nil
}

func find(value any, t reflect.Type) *Tree {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return nil // the type alone knows what it reads
	}
	over := &Tree{mark: markOf(value), fields: map[string]json.RawMessage{}, below: map[string]*Tree{}}
	switch v := value.(type) {
	case map[string]any:
		switch t.Kind() {
		case reflect.Struct:
			over.findFields(v, t)
		case reflect.Map:
			for key, element := range v {
				over.put(key, find(element, t.Elem()))
			}
		}
	case []any:
		if t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
			for i, element := range v {
				over.put(strconv.Itoa(i), find(element, t.Elem()))
			}
		}
	}
	if len(over.fields)+len(over.below) == 0 {
		return nil
	}
	return over
}

func (over *Tree) findFields(value map[string]any, t reflect.Type) {
	known := fieldsOf(t)
	for name, content := range value {
		if of, ok := known[strings.ToLower(name)]; ok { // as encoding/json matches them
			over.put(name, find(content, of))
			continue
		}
		raw, err := json.Marshal(content)
		if err == nil { // what was decoded can be encoded
			over.fields[name] = raw
		}
	}
}

func (over *Tree) put(name string, below *Tree) {
	if below != nil {
		over.below[name] = below
	}
}

// fieldsOf are the types of a struct's fields by name in JSON, in lower case.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	known := map[string]reflect.Type{}
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case field.Anonymous && name == "":
			inlined := field.Type
			if inlined.Kind() == reflect.Pointer {
				inlined = inlined.Elem()
			}
			maps.Copy(known, fieldsOf(inlined))
		case name == "":
			known[strings.ToLower(field.Name)] = field.Type
		default:
			known[strings.ToLower(name)] = field.Type
		}
	}
	return known
}

// marks are the fields that tell one value from another of its kind, in our records and in Kubernetes' objects.
var marks = []string{"ID", "UID", "uid", "Name", "name", "Container", "Attempt", "Requested", "key", "type"}

// markOf returns the text that tells a value from others in its place; empty if nothing does.
func markOf(value any) string {
	object, ok := value.(map[string]any)
	if !ok {
		return ""
	}
	var text strings.Builder
	for _, name := range marks {
		if content, ok := object[name]; ok {
			fmt.Fprintf(&text, "%s=%v ", name, content)
		}
	}
	return text.String()
}

// Below returns the surplus of one field, apart from the rest.
func (over *Tree) Below(name string) *Tree {
	if over == nil {
		return nil
	}
	return over.below[name]
}

// Without returns the surplus without that of some fields.
func (over *Tree) Without(names ...string) *Tree {
	if over == nil {
		return nil
	}
	below := maps.Clone(over.below)
	for _, name := range names {
		delete(below, name)
	}
	if len(over.fields)+len(below) == 0 {
		return nil
	}
	return &Tree{mark: over.mark, fields: over.fields, below: below}
}

// Paths are the places of all that is surplus, sorted.
func (over *Tree) Paths() []string {
	var paths []string
	over.walk("", func(path string) { paths = append(paths, path) })
	slices.Sort(paths)
	return paths
}

func (over *Tree) walk(path string, visit func(string)) {
	if over == nil {
		return
	}
	for name := range over.fields {
		visit(join(path, name))
	}
	for name, below := range over.below {
		below.walk(join(path, name), visit)
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// unmarshal keeps numbers as they are written.
func unmarshal(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	return decoder.Decode(into)
}
