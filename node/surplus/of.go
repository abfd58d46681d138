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

// Finder finds surplus. It remembers the types that it has seen.
type Finder struct {
	shapes map[reflect.Type]shape
}

// shape holds what has to be known of a type.
type shape struct {
	leaf   bool                    // the type alone knows what it reads
	fields map[string]reflect.Type // of a struct, by name in JSON, in lower case
}

// NewFinder returns a finder that has seen no type.
func NewFinder() *Finder { return &Finder{shapes: map[reflect.Type]shape{}} }

// Of finds what JSON says beyond a type.
func (f *Finder) Of(data []byte, t reflect.Type) (*Tree, error) {
	var value any
	if err := unmarshal(data, &value); err != nil {
		return nil, err
	}
	return f.find(value, t), nil
}

func (f *Finder) find(value any, t reflect.Type) *Tree {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	known := f.shapeOf(t)
	if known.leaf {
		return nil
	}
	over := &Tree{}
	switch v := value.(type) {
	case map[string]any:
		switch t.Kind() {
		case reflect.Struct:
			f.findFields(over, v, known.fields)
		case reflect.Map:
			for key, element := range v {
				over.put(key, f.find(element, t.Elem()))
			}
		}
	case []any:
		if t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
			for i, element := range v {
				over.put(strconv.Itoa(i), f.find(element, t.Elem()))
			}
		}
	}
	if len(over.fields)+len(over.below) == 0 {
		return nil
	}
	over.mark = markOf(value)
	return over
}

func (f *Finder) findFields(over *Tree, value map[string]any, known map[string]reflect.Type) {
	for name, content := range value {
		if of, ok := fieldNamed(known, name); ok {
			over.put(name, f.find(content, of))
			continue
		}
		raw, err := json.Marshal(content)
		if err != nil {
			continue // what was decoded can be encoded
		}
		if over.fields == nil {
			over.fields = map[string]json.RawMessage{}
		}
		over.fields[name] = raw
	}
}

// fieldNamed finds a field as encoding/json does: in any case of letters.
func fieldNamed(known map[string]reflect.Type, name string) (reflect.Type, bool) {
	of, ok := known[strings.ToLower(name)]
	return of, ok
}

func (over *Tree) put(name string, below *Tree) {
	switch {
	case below == nil:
		return
	case over.below == nil:
		over.below = map[string]*Tree{}
	}
	over.below[name] = below
}

func (f *Finder) shapeOf(t reflect.Type) shape {
	known, seen := f.shapes[t]
	if seen {
		return known
	}
	switch reads := reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()); {
	case reads:
		known.leaf = true
	case t.Kind() == reflect.Struct:
		known.fields = fieldsOf(t)
	case t.Kind() != reflect.Map && t.Kind() != reflect.Slice && t.Kind() != reflect.Array:
		known.leaf = true
	}
	f.shapes[t] = known
	return known
}

// fieldsOf returns the types of a struct's fields by name in JSON, in lower case.
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

// marks lists the fields that identify a value among others of its kind, in our records and in
// Kubernetes' objects.
var marks = []string{"ID", "UID", "uid", "Name", "name", "Container", "Attempt", "Requested", "key", "type"}

// markOf returns the text that identifies a value among others in its place, or "" if nothing does.
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

// Paths returns the paths of all surplus fields, sorted.
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
