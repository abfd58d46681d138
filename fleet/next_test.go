package fleet

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

const web = "metadata: {name: web}\nspec: {}\n"

func named(name, text string) local {
	return local{name: types.NamespacedName{Namespace: "default", Name: name}, uid: name + "-uid", key: "k", text: text}
}

func TestNext(t *testing.T) {
	text := func(s string) *string { return &s }
	going := named("web", "going")
	going.deadline = time.Unix(1, 0)
	for _, c := range []struct {
		name string
		view view
		want verb
		pod  string // of end
		tell string
	}{
		{"a key that is new is put", view{text: text(web)}, put, "", ""},
		{"one that changed is put", view{text: text(web), taken: "else", pods: []local{named("web", "a")}}, put, "", ""},
		{"a pod that a client deleted is put again", view{text: text(web), taken: web, status: "a"}, put, "", ""},
		{"one that was refused is not, and etcd is told", view{text: text(web), taken: web, refused: "too large"}, report, "", "too large"},
		{"one whose name another holds is not", view{text: text(web), holder: "by key other"}, report, "", "by key other"},
		{"one that runs is told of", view{text: text(web), taken: web, pods: []local{named("web", "a")}, status: "b"}, report, "", "a"},
		{"one that was told of is left", view{text: text(web), taken: web, pods: []local{named("web", "a")}, status: "a"}, agreed, "", ""},
		{"a key that is gone ends its pod", view{pods: []local{named("web", "a")}, status: "a"}, end, "web", ""},
		{"one that ends is told of", view{pods: []local{going}, status: "a"}, report, "", "going"},
		{"a key that names another pod ends the first", view{text: text(web), pods: []local{named("old", "a")}}, end, "old", ""},
		{"a text that can no longer be read is put, for what is wrong with it", view{text: text("a: ["), taken: web, pods: []local{named("web", "{}")}}, put, "", ""},
		{"its pod runs on, and etcd is told why it is not changed", view{text: text("a: ["), taken: "a: [", refused: "line 1", pods: []local{named("web", "{}")}, status: "{}"}, report, "", `"message":"line 1"`},
		{"so is one whose change the node refuses", view{text: text(web), taken: web, refused: "too large", pods: []local{named("web", "{}")}, status: "{}"}, report, "", "too large"},
		{"when nothing is left the status goes", view{status: "a"}, report, "", ""},
		{"of nothing there is nothing to do", view{}, agreed, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := next(c.view)
			if got.verb != c.want || got.pod.name.Name != c.pod || !strings.Contains(got.status, c.tell) || c.tell == "" && got.status != "" {
				t.Errorf("got %+v, want %v of %q with %q", got, c.want, c.pod, c.tell)
			}
		})
	}
}

func TestAManifestCarriesItsKey(t *testing.T) {
	got, err := manifestOf("metadata:\n  name: web\n  annotations: {mine: x}\nspec: {hostNetwork: true}\n", "k")
	if err != nil {
		t.Fatal(err)
	}
	var pod corev1.Pod
	if err := json.Unmarshal([]byte(got), &pod); err != nil {
		t.Fatal(err)
	}
	if pod.Annotations[AnnotationKey] != "k" || pod.Annotations["mine"] != "x" || !pod.Spec.HostNetwork {
		t.Errorf("got %s", got)
	}
	for _, wrong := range []string{"", "a: [", "metadata: 3", "a: 1\na: 2\nmetadata: {}"} {
		if got, err := manifestOf(wrong, "k"); err == nil {
			t.Errorf("of %q came %s", wrong, got)
		}
	}
}
