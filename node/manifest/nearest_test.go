package manifest

import (
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestAMisspelledFieldIsAnsweredWithTheNearest(t *testing.T) {
	cases := []struct{ name, path, want string }{
		{"a letter too few", "spec.containers[0].imag", "image"},
		{"a letter too many", "spec.containers[1].imagee", "image"},
		{"another case", "spec.restartpolicy", "restartPolicy"},
		{"one instead of many", "spec.volume", "volumes"},
		{"at the top", "metdata", "metadata"},
		{"below an inlined struct", "spec.volumes[0].configmap", "configMap"},
		{"longer than any name", "spec." + strings.Repeat("v", 100), ""},
		{"like nothing", "spec.containers[0].cloud", ""},
		{"of another object", "spec.image", ""},
		{"below what is unknown itself", "specs.containers", ""},
		{"below a map", "metadata.labels.a", ""},
	}
	for _, c := range cases {
		want := c.want
		if want != "" {
			want = "; did you mean " + want + "?"
		}
		if got := meant(reflect.TypeFor[*corev1.Pod](), c.path); got != want {
			t.Errorf("%s, %s: got %q, want %q", c.name, c.path, got, want)
		}
	}
}
