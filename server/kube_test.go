package server

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"nodal/node"
)

const podsOfKube = "/api/v1/namespaces/default/pods"

func TestKubernetesAPIReadsPods(t *testing.T) {
	n := newNode(t)
	n.apply(t, manifestOf("web"))
	n.run(t, "web", node.ContainerRunning)
	const table = "application/json;as=Table;g=meta.k8s.io;v=v1"
	for _, c := range []struct {
		name, path string
		headers    []string
		status     int
		want       string
	}{
		{"discovery", "/api", nil, 200, `"versions":["v1"]`},
		{"discovery at once", "/apis", []string{"Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}, 200, `"resource":"networkpolicies"`},
		{"resources", "/api/v1", nil, 200, `"name":"pods/exec"`},
		{"one", podsOfKube + "/web", nil, 200, `"kind":"Pod"`},
		{"a list", podsOfKube, nil, 200, `"kind":"PodList"`},
		{"a list of all", "/api/v1/pods?labelSelector=app%3Dnone", nil, 200, `"items":[]`},
		{"a table", podsOfKube, []string{"Accept", table}, 200, `"cells":["web","1/1","Running","0",`},
		{"metadata", podsOfKube, []string{"Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}, 200, `"kind":"PartialObjectMetadataList"`},
		{"none of the name", podsOfKube + "/none", nil, 404, `"message":"pods \"none\" not found","reason":"NotFound"`},
		{"protobuf alone", podsOfKube, []string{"Accept", "application/vnd.kubernetes.protobuf"}, 406, `"reason":"NotAcceptable"`},
		{"a wrong selector", podsOfKube + "?fieldSelector=spec.color%3Dred", nil, 400, `"reason":"BadRequest"`},
		{"a wrong version", podsOfKube + "?watch=1&resourceVersion=x", nil, 400, "not a revision"},
		{"a version to come", podsOfKube + "?watch=1&resourceVersion=999999", nil, 410, `"reason":"Expired"`},
		{"namespaces", "/api/v1/namespaces", nil, 200, `"name":"default"`},
		{"a namespace", "/api/v1/namespaces/none", nil, 404, "NotFound"},
		{"the node", "/api/v1/nodes/node1", nil, 200, `"kubeletVersion":"v1.`},
		{"what is not there", "/apis/networking.k8s.io/v1/ingresses", nil, 404, "kubectl api-resources lists what there is"},
		{"schemas", "/openapi/v3", nil, 200, `"api/v1"`},
		{"the schema of pods", "/openapi/v3/api/v1", nil, 200, `"io.k8s.api.core.v1.PodSpec"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := n.do(t, "GET", c.path, "", c.headers...)
			if got.status != c.status || !strings.Contains(got.body, c.want) {
				t.Errorf("got %d %.2000s\nwant %d and %s", got.status, got.body, c.status, c.want)
			}
		})
	}
}

func TestKubernetesAPIWritesObjects(t *testing.T) {
	n := newNode(t)
	const path = "/api/v1/namespaces/default/configmaps"
	const colors = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"colors"},"data":{"a":"red"}}`
	fromClientGo := func() string {
		raw, err := (&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "typed"}, Data: map[string]string{"a": "b"}}).Marshal()
		if err != nil {
			t.Fatal(err)
		}
		envelope := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, Raw: raw}
		text, err := envelope.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		return "k8s\x00" + string(text)
	}()
	const merge, steps, protobuf = "application/merge-patch+json", "application/json-patch+json", "application/vnd.kubernetes.protobuf"
	for _, c := range []struct {
		name, method, path, body, kind string
		status                         int
		want                           string
	}{
		{"a dry run", "POST", path + "?dryRun=All", colors, "", 201, `"name":"colors"`},
		{"which made nothing", "GET", path + "/colors", "", "", 404, "NotFound"},
		{"an object", "POST", path, colors, "", 201, `"resourceVersion":`},
		{"the same again", "POST", path, colors, "", 409, `"reason":"AlreadyExists"`},
		{"of another namespace", "POST", path, strings.Replace(colors, `"name"`, `"namespace":"other","name"`, 1), "", 400, "metadata.namespace"},
		{"of another kind", "POST", path, `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"colors"}}`, "", 400, "Secret"},
		{"a name that the node makes", "POST", path, strings.Replace(colors, `"name":"colors"`, `"generateName":"made-"`, 1), "", 201, `"name":"made-`},
		{"in protobuf", "POST", path, fromClientGo, protobuf, 201, `"name":"typed"`},
		{"no protobuf", "POST", path, "k8s\x00nonsense", protobuf, 400, "BadRequest"},
		{"a wrong field", "POST", path, strings.Replace(strings.Replace(colors, `"data"`, `"date"`, 1), "colors", "wrong", 1), "", 422, `"reason":"Invalid"`},
		{"a patch", "PATCH", path + "/colors", `{"data":{"b":"blue"}}`, merge, 200, `"b":"blue"`},
		{"a patch in steps", "PATCH", path + "/colors", `[{"op":"remove","path":"/data/a"}]`, steps, 200, `"data":{"b":"blue"}`},
		{"a patch of the name", "PATCH", path + "/colors", `{"metadata":{"name":"x"}}`, merge, 400, "metadata.name"},
		{"a patch of another version", "PATCH", path + "/colors", `{"metadata":{"resourceVersion":"1"}}`, merge, 409, `"reason":"Conflict"`},
		{"a replacement", "PUT", path + "/colors", colors, "", 200, `"a":"red"`},
		{"a replacement of an old version", "PUT", path + "/colors", strings.Replace(colors, `"name"`, `"resourceVersion":"1","name"`, 1), "", 409, `"reason":"Conflict"`},
		{"a replacement of nothing", "PUT", path + "/none", strings.Replace(colors, "colors", "none", 1), "", 404, "NotFound"},
		{"a deletion that is not meant", "DELETE", path + "/colors?dryRun=All", "", "", 200, "Success"},
		{"a deletion of another object", "DELETE", path + "/colors", `{"preconditions":{"uid":"x"}}`, "", 409, "Conflict"},
		{"a deletion", "DELETE", path + "/colors", "", "", 200, "Success"},
		{"which happened", "GET", path + "/colors", "", "", 404, "NotFound"},
	} {
		var headers []string
		if c.kind != "" {
			headers = []string{"Content-Type", c.kind}
		}
		if got := n.do(t, c.method, c.path, c.body, headers...); got.status != c.status || !strings.Contains(got.body, c.want) {
			t.Errorf("%s: got %d %.1000s\nwant %d and %s", c.name, got.status, got.body, c.status, c.want)
		}
	}
}

// A watch of kubectl or of an informer.
func TestKubernetesAPIWatches(t *testing.T) {
	n := newNode(t)
	n.apply(t, manifestOf("web"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	next := n.lines(ctx, t, podsOfKube+"?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan")
	type event struct {
		Type   string
		Object corev1.Pod
	}
	want := func(kind, name string) event {
		t.Helper()
		var got event
		if err := json.Unmarshal([]byte(next()), &got); err != nil {
			t.Fatal(err)
		}
		if got.Type != kind || got.Object.Name != name {
			t.Fatalf("got %s of %q, want %s of %q", got.Type, got.Object.Name, kind, name)
		}
		return got
	}
	want("ADDED", "web")
	if mark := want("BOOKMARK", ""); mark.Object.Annotations[metav1.InitialEventsAnnotationKey] != "true" || mark.Object.ResourceVersion == "" {
		t.Errorf("the mark is %+v", mark.Object.ObjectMeta)
	}
	n.run(t, "web", node.ContainerRunning)
	want("MODIFIED", "web")
	n.forget(t, "web")
	want("DELETED", "web")
}

// lines opens a stream of lines, and returns a function that reads the next one.
func (n *node1) lines(ctx context.Context, t *testing.T, path string) func() string {
	t.Helper()
	served := httptest.NewServer(n.server.HTTP())
	t.Cleanup(served.Close)
	r, err := http.NewRequestWithContext(ctx, "GET", served.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := served.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { answer.Body.Close() })
	in := bufio.NewReader(answer.Body)
	return func() string {
		t.Helper()
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return line
	}
}
