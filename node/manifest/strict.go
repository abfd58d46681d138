package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	kjson "sigs.k8s.io/json"

	"nodal/node/manifest/rules"
)

// fault is one field that does not fit its type.
type fault struct{ field, rule string }

// unmarshalStrict decodes as the API server does under strict field validation.
// The error is for what does not decode at all; mismatches finds its place.
func unmarshalStrict(data []byte, into any) ([]fault, error) {
	strict, err := kjson.UnmarshalStrict(data, into)
	faults := make([]fault, 0, len(strict))
	for _, s := range strict {
		f := fault{rule: s.Error()}
		var at kjson.FieldError
		if errors.As(s, &at) {
			f.field = at.FieldPath()
		}
		switch {
		case strings.HasPrefix(f.rule, "unknown field"):
			f.rule = "unknown field" + meant(reflect.TypeOf(into), f.field)
		case strings.HasPrefix(f.rule, "duplicate field"):
			f.rule = "duplicate key: must not be given twice"
		}
		faults = append(faults, f)
	}
	return faults, err
}

// mismatches finds every value that does not fit the Go type of its field, with a
// full path. encoding/json stops at the first and leaves list indices out; types
// with a decoder of their own, such as quantities, name no field at all.
func mismatches(data []byte, t reflect.Type) []fault {
	var tree any
	if kjson.UnmarshalCaseSensitivePreserveInts(data, &tree) != nil {
		return nil
	}
	var m mismatch
	m.value(tree, t, "")
	return m.faults
}

type mismatch struct{ faults []fault }

func (m *mismatch) value(value any, t reflect.Type, path string) {
	if value == nil {
		return // null leaves every field at its zero
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
		m.leaf(value, t, path)
	case t.Kind() == reflect.Struct:
		m.object(value, t, path)
	case t.Kind() == reflect.Map:
		m.mapping(value, t, path)
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		m.list(value, t, path)
	default:
		m.leaf(value, t, path)
	}
}

func (m *mismatch) object(value any, t reflect.Type, path string) {
	object, ok := value.(map[string]any)
	if !ok {
		m.expected(path, "an object", value)
		return
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" { // inlined
			m.value(value, f.Type, path)
			continue
		}
		if child, ok := object[name]; ok {
			m.value(child, f.Type, join(path, name))
		}
	}
}

func (m *mismatch) mapping(value any, t reflect.Type, path string) {
	object, ok := value.(map[string]any)
	if !ok {
		m.expected(path, "an object", value)
		return
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		m.value(object[key], t.Elem(), fmt.Sprintf("%s[%s]", path, rules.Clip(key)))
	}
}

func (m *mismatch) list(value any, t reflect.Type, path string) {
	list, ok := value.([]any)
	if !ok {
		m.expected(path, "a list", value)
		return
	}
	for i, child := range list {
		m.value(child, t.Elem(), fmt.Sprintf("%s[%d]", path, i))
	}
}

// leaf asks the type itself: only its decoder knows what fits.
func (m *mismatch) leaf(value any, t reflect.Type, path string) {
	raw, err := json.Marshal(value)
	if err != nil {
		m.faults = append(m.faults, fault{path, "must be a JSON value"})
		return
	}
	err = json.Unmarshal(raw, reflect.New(t).Interface())
	var wrongType *json.UnmarshalTypeError
	switch {
	case err == nil:
	case errors.As(err, &wrongType):
		m.expected(path, describe(t), value)
	case isQuantity(t, value):
		m.faults = append(m.faults, fault{path, notQuantity(path, value.(string))})
	default:
		m.faults = append(m.faults, fault{path, "must be well formed: " + clipRule(err.Error())})
	}
}

func isQuantity(t reflect.Type, value any) bool {
	_, text := value.(string)
	return text && t == reflect.TypeFor[resource.Quantity]()
}

func (m *mismatch) expected(path, want string, value any) {
	m.faults = append(m.faults, fault{path, fmt.Sprintf("must be %s, not %s", want, describeValue(value))})
}

func describe(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int32:
		return "a whole number of 32 bits"
	case reflect.Int64, reflect.Int:
		return "a whole number of 64 bits"
	case reflect.Slice:
		return "a string in base64"
	default:
		return "a " + t.Kind().String()
	}
}

func describeValue(value any) string {
	switch v := value.(type) {
	case string:
		return fmt.Sprintf("the string %q", rules.Clip(v))
	case bool:
		return fmt.Sprintf("%t (quote it to make it a string)", v)
	case int64, float64:
		return fmt.Sprintf("the number %v", v)
	case []any:
		return "a list"
	default:
		return "an object"
	}
}
