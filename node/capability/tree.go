package capability

import (
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodal/node"
)

// branch is the table below one field. If it has branches of its own, only these report.
type branch struct {
	name  string
	index []int // of the Go field in its struct; nil below a map
	rule  *rule
	below []*branch
}

const anyKey = "*"

// anyExtended stands for any extended resource.
const anyExtended = "*/*"

// grow sorts the rules into a tree along a Go type.
func grow(root reflect.Type, rules []rule) *branch {
	tree := &branch{}
	for i := range rules {
		at, goType := tree, root
		for name := range strings.SplitSeq(rules[i].Field, ".") {
			if at, goType = at.child(bare(goType), name); at == nil {
				break
			}
		}
		if at != nil {
			at.rule = &rules[i]
		}
	}
	return tree
}

// child returns the branch of a field or key and its type; nil when the type has
// no such field.
func (b *branch) child(parent reflect.Type, name string) (*branch, reflect.Type) {
	below := &branch{name: name}
	var childType reflect.Type
	switch parent.Kind() {
	case reflect.Map:
		childType = parent.Elem()
	case reflect.Struct:
		f, ok := fieldByName(parent, name)
		if !ok {
			return nil, nil
		}
		below.index, childType = f.Index, f.Type
	default:
		return nil, nil
	}
	if i := slices.IndexFunc(b.below, func(c *branch) bool { return c.name == name }); i >= 0 {
		return b.below[i], childType
	}
	b.below = append(b.below, below)
	return below, childType
}

func bare(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t
}

// fieldByName finds a field as JSON names it, those of inlined structs too.
func fieldByName(t reflect.Type, name string) (reflect.StructField, bool) {
	for _, f := range reflect.VisibleFields(t) {
		if jsonName(f) == name && inlined(t, f) {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// inlined reports whether JSON shows the field in t itself, not in an embedded struct with a name
// of its own, as ObjectMeta is.
func inlined(t reflect.Type, f reflect.StructField) bool {
	return len(f.Index) == 1 || jsonName(t.Field(f.Index[0])) == ""
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

type reporter func(at *field.Path, r *rule)

// visit reports every rule that a value gives reason for.
func (b *branch) visit(v reflect.Value, at *field.Path, report reporter) {
	v = reflect.Indirect(v)
	switch {
	case !v.IsValid():
	case len(b.below) == 0:
		if b.rule.concerns(v) {
			report(at, b.rule)
		}
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			b.visit(v.Index(i), at.Index(i), report)
		}
	case v.Kind() == reflect.Map:
		b.visitKeys(v, at, report)
	default:
		for _, c := range b.below {
			if f := v.FieldByIndex(c.index); !c.quiet() && !f.IsZero() {
				c.visit(f, at.Child(c.name), report)
			}
		}
	}
}

func (b *branch) visitKeys(v reflect.Value, at *field.Path, report reporter) {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(x, y reflect.Value) int { return strings.Compare(x.String(), y.String()) })
	for _, key := range keys {
		i := slices.IndexFunc(b.below, func(c *branch) bool { return c.name == key.String() })
		if i < 0 && node.IsExtended(corev1.ResourceName(key.String())) {
			i = slices.IndexFunc(b.below, func(c *branch) bool { return c.name == anyExtended })
		}
		if i < 0 {
			i = slices.IndexFunc(b.below, func(c *branch) bool { return c.name == anyKey })
		}
		if i >= 0 {
			b.below[i].visit(v.MapIndex(key), at.Key(key.String()), report)
		}
	}
}

// quiet reports whether nothing at or below the branch is ever reported.
func (b *branch) quiet() bool { return len(b.below) == 0 && b.rule.mute() }

func (r *rule) mute() bool { return r.Support == Honoured || r.silent }

// concerns reports whether a value asks for more than Kubernetes' default. An empty list or map
// asks for nothing. Any other value that is written does, even zero or, like an emptyDir, an
// empty object.
func (r *rule) concerns(v reflect.Value) bool {
	if r.mute() {
		return false
	}
	if (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.Len() == 0 {
		return false
	}
	return r.normal == nil || !reflect.DeepEqual(v.Interface(), r.normal)
}
