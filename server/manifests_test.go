package server

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/node/store"
)

func TestAManifestIsAcceptedInEveryFormThatCurlSends(t *testing.T) {
	asJSON := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"containers":[{"name":"main","image":"a:1"}]}}`
	cases := []struct{ contentType, body string }{
		{"", manifestOf("web")},
		{"application/x-www-form-urlencoded", manifestOf("web")},
		{"application/yaml", manifestOf("web")},
		{"application/x-yaml", manifestOf("web")},
		{"text/yaml", manifestOf("web")},
		{"text/plain; charset=utf-8", manifestOf("web")},
		{"application/json", asJSON},
		{"application/x-www-form-urlencoded", asJSON},
	}
	for _, c := range cases {
		n := newNode(t)
		got := n.do(t, "POST", "/v1/manifests", c.body, "Content-Type", c.contentType)
		if got.status != http.StatusOK || !strings.Contains(got.body, "RESULT_CREATED") {
			t.Errorf("%q: got %d %s", c.contentType, got.status, got.body)
		}
	}
}

func TestABodyIsReadAsItStands(t *testing.T) {
	n := newNode(t)
	const told = `send the body as it is, without Content-Encoding`
	for _, c := range []struct {
		encoding string
		status   int
		text     string
	}{
		{"", 200, "RESULT_CREATED"},
		{"identity", 200, "RESULT_CREATED"},
		{"Identity", 200, "RESULT_CREATED"},
		{"gzip", 415, told},
		{"br", 415, told},
		{"gzip, identity", 415, told},
	} {
		got := n.do(t, "POST", "/v1/manifests:plan", manifestOf("web"), "Content-Encoding", c.encoding)
		if got.status != c.status || !strings.Contains(got.body, c.text) {
			t.Errorf("%q: got %d %s, want %d with %s", c.encoding, got.status, got.body, c.status, c.text)
		}
	}
}

// results returns the outcomes of an answer, in short.
func results(t *testing.T, a answer) []string {
	t.Helper()
	var decoded struct {
		Outcomes []struct{ Name, Result string }
	}
	if err := json.Unmarshal([]byte(a.body), &decoded); err != nil || a.status != http.StatusOK {
		t.Fatalf("got %d %s", a.status, a.body)
	}
	var all []string
	for _, o := range decoded.Outcomes {
		all = append(all, o.Name+" "+strings.TrimPrefix(o.Result, "RESULT_"))
	}
	return all
}

func TestApplyPlanAndDeleteReportTheResultOfEachPod(t *testing.T) {
	n := newNode(t)
	n.apply(t, manifestOf("a"))
	changed := strings.Replace(manifestOf("a"), "app: a", "app: z", 1)
	bundle := changed + "---\n" + manifestOf("b")
	steps := []struct {
		name, method, path, body string
		want                     []string
	}{
		{"a plan", "POST", "/v1/manifests:plan", bundle, []string{"a UPDATED", "b CREATED"}},
		{"the same plan, since a plan does nothing", "POST", "/v1/manifests:plan", bundle, []string{"a UPDATED", "b CREATED"}},
		{"the bundle", "POST", "/v1/manifests", bundle, []string{"a UPDATED", "b CREATED"}},
		{"the bundle again", "POST", "/v1/manifests", bundle, []string{"a UNCHANGED", "b UNCHANGED"}},
		{"a deletion, unknown names left out", "DELETE", "/v1/manifests", bundle + "---\n" + manifestOf("c"), []string{"a DELETED", "b DELETED"}},
	}
	for _, s := range steps {
		if got := results(t, n.do(t, s.method, s.path, s.body)); !slices.Equal(got, s.want) {
			t.Errorf("%s: got %v, want %v", s.name, got, s.want)
		}
	}
}

func TestADeletionNeedsNoMoreThanNames(t *testing.T) {
	cases := []struct {
		name, bundle string
		want         []node.Key // nil: refused
	}{
		{"a pod that is no longer valid", "kind: Pod\nmetadata: {name: a}\nspec: {nonsense: 1}", []node.Key{{Namespace: "default", Name: "a"}}},
		{"a namespace", "kind: Pod\nmetadata: {name: a, namespace: prod}", []node.Key{{Namespace: "prod", Name: "a"}}},
		{"a list", `{"kind":"List","items":[{"kind":"Pod","metadata":{"name":"a"}},{"kind":"Pod","metadata":{"name":"b"}}]}`,
			[]node.Key{{Namespace: "default", Name: "a"}, {Namespace: "default", Name: "b"}}},
		{"a list of pods that do not say so", `{"kind":"PodList","items":[{"metadata":{"name":"a"}}]}`, []node.Key{{Namespace: "default", Name: "a"}}},
		{"empty documents", "---\n---\nkind: Pod\nmetadata: {name: a}\n---\n", []node.Key{{Namespace: "default", Name: "a"}}},
		{"objects", "kind: Secret\nmetadata: {name: a}\n---\nkind: ConfigMap\nmetadata: {name: b, namespace: prod}",
			[]node.Key{{Namespace: "default", Name: "a"}, {Namespace: "prod", Name: "b"}}},
		{"no name", "kind: Pod\nmetadata: {}", nil},
		{"another kind", "kind: Ingress\nmetadata: {name: a}", nil},
		{"nothing", "", nil},
		{"no YAML", "{", nil},
	}
	for _, c := range cases {
		found, err := namesIn(c.bundle)
		got := found.pods
		for _, ref := range found.objects {
			got = append(got, node.Key{Namespace: ref.Namespace, Name: ref.Name})
		}
		if !slices.Equal(got, c.want) || (err == nil) != (c.want != nil) {
			t.Errorf("%s: got %v and %v, want %v", c.name, got, err, c.want)
		}
	}
}

func TestADeletionTellsHowLinesAreKept(t *testing.T) {
	n := newNode(t)
	for _, c := range []struct {
		name, bundle string
		told         bool
	}{
		{"lines that curl joined", strings.ReplaceAll(manifestOf("web"), "\n", ""), true},
		{"a comment before them", "# example" + strings.ReplaceAll(manifestOf("web"), "\n", ""), true},
		{"lines that are wrong", "kind: Pod\n metadata:\n", false},
		{"JSON of one line", `{"kind":`, false},
		{"nothing", "", true},
	} {
		got := n.do(t, "DELETE", "/v1/manifests", c.bundle)
		if told := strings.Contains(got.body, "--data-binary"); got.status != http.StatusBadRequest || told != c.told {
			t.Errorf("%s: got %d %s, want 400, told of --data-binary: %v", c.name, got.status, got.body, c.told)
		}
	}
}

func TestPutDeleteAndRestartAnswerWithThePod(t *testing.T) {
	n := newNode(t)
	const path = "/v1/namespaces/default/pods/web"
	put := n.do(t, "PUT", path, manifestOf("web"))
	if put.status != 200 || !strings.Contains(put.body, "RESULT_CREATED") || !strings.Contains(put.body, `"phase"`) {
		t.Errorf("put: got %d %s", put.status, put.body)
	}
	n.run(t, "web", node.ContainerRunning)
	restarted := n.do(t, "POST", path+":restart", "")
	if restarted.status != 200 || !strings.Contains(restarted.body, `"30s"`) {
		t.Errorf("restart: got %d %s, want the grace period", restarted.status, restarted.body)
	}
	view, _ := n.store.View(node.Key{Namespace: "default", Name: "web"})
	if want := []node.Restart{{Container: "main"}}; !slices.Equal(view.Slot.Pod.Restarts, want) {
		t.Errorf("restarts: got %v, want %v", view.Slot.Pod.Restarts, want)
	}
	deleted := n.do(t, "DELETE", path+"?gracePeriodSeconds=5", "")
	if deleted.status != 200 || !strings.Contains(deleted.body, `"Terminating"`) || !strings.Contains(deleted.body, "2026-05-01T12:00:05Z") {
		t.Errorf("delete: got %d %s, want a pod that has five seconds", deleted.status, deleted.body)
	}
	again := n.do(t, "POST", path+":restart", "")
	if again.status != http.StatusConflict {
		t.Errorf("restart of a pod being deleted: got %d %s, want 409", again.status, again.body)
	}
}

func TestPutTakesTheNamespaceOfItsPath(t *testing.T) {
	n := newNode(t)
	put := n.do(t, "PUT", "/v1/namespaces/shop/pods/web", manifestOf("web"))
	if put.status != 200 || !strings.Contains(put.body, `"namespace":"shop"`) {
		t.Errorf("got %d %s, want the pod in namespace shop", put.status, put.body)
	}
}

func TestAListIsSelected(t *testing.T) {
	n := newNode(t)
	n.apply(t, manifestOf("a"))
	n.apply(t, manifestOf("b"))
	n.run(t, "b", node.ContainerRunning)
	pods := nodev1.NewPodsServiceClient(n.dial(t))
	cases := []struct {
		name string
		r    *nodev1.ListPodsRequest
		want []string
	}{
		{"all", &nodev1.ListPodsRequest{}, []string{"a", "b"}},
		{"a namespace", &nodev1.ListPodsRequest{Namespace: "elsewhere"}, nil},
		{"a label", &nodev1.ListPodsRequest{LabelSelector: "app in (a)"}, []string{"a"}},
		{"a name", &nodev1.ListPodsRequest{FieldSelector: "metadata.name=b"}, []string{"b"}},
		{"a phase", &nodev1.ListPodsRequest{FieldSelector: "status.phase!=Running"}, []string{"a"}},
		{"a node", &nodev1.ListPodsRequest{FieldSelector: "spec.nodeName=node1,spec.restartPolicy=Always"}, []string{"a", "b"}},
	}
	for _, c := range cases {
		got, err := pods.ListPods(t.Context(), c.r)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var names []string
		for _, pod := range got.GetPods() {
			names = append(names, pod.GetName())
		}
		if !slices.Equal(names, c.want) || got.GetRevision() != n.store.Revision() {
			t.Errorf("%s: got %v at %d, want %v at %d", c.name, names, got.GetRevision(), c.want, n.store.Revision())
		}
	}
	over := podNames(t, n.do(t, "GET", "/v1/namespaces/default/pods?labelSelector=app%3Da", ""))
	if !slices.Equal(over, []string{"a"}) {
		t.Errorf("REST: got %v, want a", over)
	}
}

func podNames(t *testing.T, a answer) []string {
	t.Helper()
	var decoded struct{ Pods []struct{ Name string } }
	if err := json.Unmarshal([]byte(a.body), &decoded); err != nil {
		t.Fatalf("decode %d %s: %v", a.status, a.body, err)
	}
	var names []string
	for _, pod := range decoded.Pods {
		names = append(names, pod.Name)
	}
	return names
}

func TestTheReasonIsTheMostTellingOne(t *testing.T) {
	n := newNode(t)
	for _, name := range []string{"waiting", "pulling", "crashing", "fine", "ending"} {
		n.apply(t, manifestOf(name))
	}
	n.run(t, "crashing", node.ContainerExited)
	key := func(name string) node.Key { return node.Key{Namespace: "default", Name: name} }
	if _, err := n.store.Transact(func(tx *store.Tx) error {
		slot := *tx.Get(key("crashing"))
		slot.Tallies = map[string]node.Tally{"main": {Restarts: 0, Streak: 3}}
		tx.Put(key("crashing"), &slot)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	n.store.Observe(key("pulling"), &node.Observed{Faults: map[string]node.Fault{node.ImageTarget("main"): {Reason: "ErrImagePull", Count: 1}}})
	n.run(t, "fine", node.ContainerRunning)
	n.do(t, "DELETE", "/v1/namespaces/default/pods/ending", "")
	want := map[string]string{
		"waiting": "ContainerCreating", "pulling": "ErrImagePull", "crashing": "CrashLoopBackOff", "fine": "", "ending": "Terminating",
	}
	pods := nodev1.NewPodsServiceClient(n.dial(t))
	for name, reason := range want {
		got, err := pods.GetPod(t.Context(), &nodev1.GetPodRequest{Namespace: "default", Name: name})
		if err != nil {
			t.Fatal(err)
		}
		if got.GetPod().GetReason() != reason {
			t.Errorf("%s: got %q, want %q", name, got.GetPod().GetReason(), reason)
		}
	}
}
