package manifest

import (
	"fmt"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
)

// differing returns the paths of the fields in which two pods differ.
func differing(a, b *corev1.Pod) []string {
	var d differ
	d.compare(reflect.ValueOf(a.ObjectMeta), reflect.ValueOf(b.ObjectMeta), "metadata")
	d.compare(reflect.ValueOf(a.Spec), reflect.ValueOf(b.Spec), "spec")
	return d.paths
}

// differ walks two values of one type side by side. It goes only where they
// differ, so that two equal pods cost one comparison.
type differ struct{ paths []string }

func (d *differ) compare(a, b reflect.Value, path string) {
	if apiequality.Semantic.DeepEqual(a.Interface(), b.Interface()) {
		return
	}
	switch {
	case a.Kind() == reflect.Pointer && !a.IsNil() && !b.IsNil() && a.Elem().Kind() == reflect.Struct:
		d.compare(a.Elem(), b.Elem(), path)
	case a.Kind() == reflect.Struct && hasFields(a.Type()):
		d.fields(a, b, path)
	case a.Kind() == reflect.Map:
		d.keys(a, b, path)
	case a.Kind() == reflect.Slice && a.Len() == b.Len() && a.Type().Elem().Kind() == reflect.Struct &&
		path != "spec.tolerations": // tolerations are a set: which is where means nothing
		for i := range a.Len() {
			d.compare(a.Index(i), b.Index(i), fmt.Sprintf("%s[%d]", path, i))
		}
	default:
		d.paths = append(d.paths, path)
	}
}

func (d *differ) fields(a, b reflect.Value, path string) {
	for i := range a.NumField() {
		f := a.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		at := path
		if name != "" { // a field without a name is inlined
			at += "." + name
		}
		d.compare(a.Field(i), b.Field(i), at)
	}
}

func (d *differ) keys(a, b reflect.Value, path string) {
	for _, key := range a.MapKeys() {
		other := b.MapIndex(key)
		if !other.IsValid() || !apiequality.Semantic.DeepEqual(a.MapIndex(key).Interface(), other.Interface()) {
			d.paths = append(d.paths, fmt.Sprintf("%s[%s]", path, key))
		}
	}
	for _, key := range b.MapKeys() {
		if !a.MapIndex(key).IsValid() {
			d.paths = append(d.paths, fmt.Sprintf("%s[%s]", path, key))
		}
	}
}

// hasFields reports whether a struct is made of API fields; a quantity or a time
// is one value.
func hasFields(t reflect.Type) bool {
	for i := range t.NumField() {
		if _, ok := t.Field(i).Tag.Lookup("json"); !ok {
			return false
		}
	}
	return true
}

// shape empties the brackets of a path: spec.containers[0].image becomes
// spec.containers[].image.
func shape(path string) string {
	var b strings.Builder
	for path != "" {
		before, after, found := strings.Cut(path, "[")
		b.WriteString(before)
		if !found {
			break
		}
		b.WriteString("[]")
		_, path, _ = strings.Cut(after, "]")
	}
	return b.String()
}
