package config

import (
	"encoding/json"
	"iter"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubelet "k8s.io/kubelet/config/v1beta1"
)

// fields yields every setting of k under its path in a configuration file
// ("maxPods", "authentication.x509.clientCAFile"). Structs are walked into;
// maps, lists, optional structs and values with a JSON form of their own are
// one setting each.
func fields(k *kubelet.KubeletConfiguration) iter.Seq2[string, reflect.Value] {
	return func(yield func(string, reflect.Value) bool) {
		walk("", reflect.ValueOf(k).Elem(), yield)
	}
}

func walk(prefix string, v reflect.Value, yield func(string, reflect.Value) bool) bool {
	for i := range v.NumField() {
		field := v.Field(i)
		if field.Type() == reflect.TypeFor[metav1.TypeMeta]() {
			continue
		}
		path := prefix
		if name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ","); name != "" {
			path = strings.TrimPrefix(prefix+"."+name, ".")
		}
		if !visit(path, field, yield) {
			return false
		}
	}
	return true
}

func visit(path string, field reflect.Value, yield func(string, reflect.Value) bool) bool {
	ownForm := field.Type().Implements(reflect.TypeFor[json.Marshaler]())
	if field.Kind() == reflect.Struct && !ownForm {
		return walk(path, field, yield)
	}
	return yield(path, field)
}

// fieldPointer returns a pointer to the field at path, through one pointer if
// the field is optional: *bool for a field of type bool or *bool.
func fieldPointer(k *kubelet.KubeletConfiguration, path string) any {
	for p, v := range fields(k) {
		if p != path {
			continue
		}
		if v.Kind() == reflect.Pointer {
			return v.Interface()
		}
		return v.Addr().Interface()
	}
	return nil
}
