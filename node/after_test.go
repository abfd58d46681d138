package node

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestBefore(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"one pod", "default/db", "[default/db] <nil>"},
		{"several pods, with blanks", "default/db, kube-system/dns.v2", "[default/db kube-system/dns.v2] <nil>"},
		{"a pod that is named twice counts once", "default/db,default/db", "[default/db] <nil>"},
		{"a name without a namespace", "db",
			`[] "db" names no pod; write namespace/name, with a comma between two pods`},
		{"nothing at all", "", `[] "" names no pod; write namespace/name, with a comma between two pods`},
		{"one that is wrong beside one that is not", "default/db,default/",
			`[default/db] "default/" names no pod; write namespace/name, with a comma between two pods`},
		{"too many slashes", "a/b/c", `[] "a/b/c" names no pod; write namespace/name, with a comma between two pods`},
		{"upper case", "default/DB", `[] "default/DB" names no pod; write namespace/name, with a comma between two pods`},
	} {
		t.Run(c.name, func(t *testing.T) {
			keys, err := Before(&metav1.ObjectMeta{Annotations: map[string]string{AnnotationAfter: c.text}})
			if got := fmt.Sprint(keys, " ", err); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
	if keys, err := Before(&metav1.ObjectMeta{}); keys != nil || err != nil {
		t.Errorf("an object without the annotation starts after %v, %v", keys, err)
	}
}
