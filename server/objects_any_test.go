package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/node/store"
)

const (
	classManifest = "apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: fast}\nhandler: runc\n"
	value         = "czNjcmV0" // s3cret in base64
)

func TestOneServiceListsShowsAppliesAndDeletesEveryKind(t *testing.T) {
	for _, c := range []struct{ kind, path, list, manifest, want string }{
		{"configmaps", "/v1/namespaces/default/objects/configmaps/settings", "/v1/objects/configmaps", configManifest, `"mode":"fast"`},
		{"its name in manifests", "/v1/namespaces/default/objects/ConfigMap/settings", "/v1/namespaces/default/objects/ConfigMap", configManifest, `"keys":["mode","raw"]`},
		{"secrets", "/v1/namespaces/shop/objects/secrets/login", "/v1/namespaces/shop/objects/secrets", secretManifest, `"keys":["password"]`},
		{"runtimeclasses", "/v1/objects/runtimeclasses/fast", "/v1/objects/runtimeclasses", classManifest, `"handler":"runc"`},
	} {
		t.Run(c.kind, func(t *testing.T) {
			n := newNode(t)
			if got := n.do(t, "PUT", c.path, c.manifest); got.status != 200 || !strings.Contains(got.body, "RESULT_CREATED") {
				t.Fatalf("put: got %d %s", got.status, got.body)
			}
			for _, path := range []string{c.path, c.list} {
				if got := n.do(t, "GET", path, ""); got.status != 200 || !strings.Contains(got.body, c.want) {
					t.Errorf("GET %s: got %d %s, want in it %s", path, got.status, got.body, c.want)
				}
			}
			if got := n.do(t, "DELETE", c.path, ""); got.status != 200 {
				t.Errorf("delete: got %d %s", got.status, got.body)
			}
			if got := n.do(t, "GET", c.path, ""); got.status != 404 {
				t.Errorf("after its deletion: got %d %s, want 404", got.status, got.body)
			}
		})
	}
}

func TestTypedServicesAndTheServiceOfAllKindsShowTheSameObjects(t *testing.T) {
	n := newNode(t)
	n.apply(t, configManifest)
	var typed struct {
		ConfigMap struct{ Object map[string]any }
	}
	var generic struct {
		Object struct{ Object map[string]any }
	}
	for path, into := range map[string]any{
		"/v1/namespaces/default/configmaps/settings":         &typed,
		"/v1/namespaces/default/objects/configmaps/settings": &generic,
	} {
		if err := json.Unmarshal([]byte(n.do(t, "GET", path, "").body), into); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := fmt.Sprint(generic.Object.Object), fmt.Sprint(typed.ConfigMap.Object); got != want || len(generic.Object.Object) == 0 {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestARequestNamesANamespaceIfTheKindHasThem(t *testing.T) {
	n := newNode(t)
	for _, c := range []struct{ name, method, path, want string }{
		{"a kind that there is not", "GET", "/v1/objects/pods/web", `kind \"pods\" is none of [configmaps`},
		{"a list of such", "GET", "/v1/objects/ingresses", `kind \"ingresses\" is none of`},
		{"a watch of such", "GET", "/v1/objects:watch?kinds=configmaps&kinds=pods", `kind \"pods\" is none of`},
		{"no namespace", "GET", "/v1/objects/configmaps/settings", "the kind has namespaces; name one"},
		{"one too many", "DELETE", "/v1/namespaces/default/objects/runtimeclasses/fast", "the kind has no namespaces; leave it out"},
		{"a list of one too many", "GET", "/v1/namespaces/default/objects/runtimeclasses", "has no namespaces"},
		{"another object", "PUT", "/v1/namespaces/default/objects/configmaps/other", "but the path names"},
		{"a field of pods", "GET", "/v1/objects/configmaps?fieldSelector=status.phase%3DRunning", "is none of [metadata.name"},
		{"a revision before the first", "GET", "/v1/objects:watch?sinceRevision=-1", "sinceRevision -1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := n.do(t, c.method, c.path, configManifest)
			if got.status != http.StatusBadRequest || !strings.Contains(got.body, c.want) {
				t.Errorf("got %d %s, want 400 and %s", got.status, got.body, c.want)
			}
		})
	}
}

func TestListsOfObjectsFollowSelectors(t *testing.T) {
	n := newNode(t)
	n.apply(t, configManifest)
	n.apply(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other, namespace: shop, labels: {app: web}}\n")
	for query, want := range map[string]string{
		"":                         "settings other",
		"?labelSelector=app%3Dweb": "other",
		"?fieldSelector=metadata.name%3Dsettings": "settings",
		"?namespace=shop":                         "other",
	} {
		var answer struct{ Objects []struct{ Name string } }
		if err := json.Unmarshal([]byte(n.do(t, "GET", "/v1/objects/configmaps"+query, "").body), &answer); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, o := range answer.Objects {
			got = append(got, o.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: got %v, want %s", query, got, want)
		}
	}
}

// watched reads a watch of objects message by message, in short: "ADDED ConfigMap settings".
type watched struct {
	t      *testing.T
	recv   func() (*nodev1.WatchObjectsResponse, error)
	last   *nodev1.WatchObjectsResponse
	cancel context.CancelFunc
}

func (n *node1) watchObjects(t *testing.T, ctx context.Context, r *nodev1.WatchObjectsRequest) *watched {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	t.Cleanup(cancel)
	stream, err := nodev1.NewObjectsServiceClient(n.dial(t)).WatchObjects(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	return &watched{t: t, recv: stream.Recv, cancel: cancel}
}

func (w *watched) want(messages ...string) {
	w.t.Helper()
	for _, want := range messages {
		m, err := w.recv()
		if err != nil {
			w.t.Fatalf("got error %v, want %s", err, want)
		}
		w.last = m
		got := strings.TrimPrefix(m.GetType().String(), "WATCH_TYPE_")
		if o := m.GetObject(); o != nil {
			got += " " + o.GetKind() + " " + o.GetName()
		}
		if got != want {
			w.t.Errorf("got %s, want %s", got, want)
		}
	}
}

func (n *node1) drop(t *testing.T, ref node.ObjectRef) {
	t.Helper()
	if _, err := n.store.Transact(func(tx *store.Tx) error { tx.DropObject(ref); return nil }); err != nil {
		t.Fatal(err)
	}
}

func TestAWatchOfObjectsSendsThePresentAndThenEachChange(t *testing.T) {
	n := newNode(t)
	n.apply(t, configManifest)
	w := n.watchObjects(t, t.Context(), &nodev1.WatchObjectsRequest{})
	w.want("ADDED ConfigMap settings", "SYNCED")
	n.apply(t, strings.Replace(configManifest, "fast", "slow", 1))
	w.want("MODIFIED ConfigMap settings")
	n.apply(t, classManifest)
	w.want("ADDED RuntimeClass fast")
	n.apply(t, manifestOf("web"))
	n.drop(t, node.ObjectRef{Kind: node.RuntimeClass, Name: "fast"})
	w.want("DELETED RuntimeClass fast")
}

func TestAWatchOfObjectsFollowsItsKindsAndSelectors(t *testing.T) {
	n := newNode(t)
	client := func(r *nodev1.WatchObjectsRequest) *watched { return n.watchObjects(t, t.Context(), r) }
	classes := client(&nodev1.WatchObjectsRequest{Kinds: []string{"runtimeclasses"}})
	labelled := client(&nodev1.WatchObjectsRequest{Kinds: []string{"ConfigMap", "Secret"}, LabelSelector: "app=web"})
	near := client(&nodev1.WatchObjectsRequest{Namespace: "shop"})
	for _, w := range []*watched{classes, labelled, near} {
		w.want("SYNCED")
	}
	marked := strings.Replace(configManifest, "{name: settings}", "{name: settings, labels: {app: web}}", 1)
	n.apply(t, marked)
	labelled.want("ADDED ConfigMap settings")
	n.apply(t, configManifest)
	labelled.want("DELETED ConfigMap settings")
	n.apply(t, classManifest)
	classes.want("ADDED RuntimeClass fast")
	n.apply(t, secretManifest)
	near.want("ADDED Secret login")
}

func TestAResumedWatchOfObjectsMissesNothing(t *testing.T) {
	n := newNode(t)
	n.apply(t, configManifest+"---\n"+secretManifest+"---\n"+classManifest)
	first := n.watchObjects(t, t.Context(), &nodev1.WatchObjectsRequest{})
	first.want("ADDED ConfigMap settings", "ADDED Secret login", "ADDED RuntimeClass fast", "SYNCED")
	first.cancel()
	n.apply(t, strings.Replace(configManifest, "fast", "slow", 1))
	n.drop(t, node.ObjectRef{Kind: node.RuntimeClass, Name: "fast"})
	second := n.watchObjects(t, t.Context(), &nodev1.WatchObjectsRequest{SinceRevision: first.last.GetRevision()})
	second.want("ADDED ConfigMap settings", "DELETED RuntimeClass fast", "SYNCED")
}

func TestARecreatedObjectIsDeletedThenAdded(t *testing.T) {
	n := newNode(t)
	n.apply(t, configManifest)
	w := n.watchObjects(t, t.Context(), &nodev1.WatchObjectsRequest{})
	w.want("ADDED ConfigMap settings", "SYNCED")
	ref := node.ObjectRef{Kind: node.ConfigMap, Namespace: "default", Name: "settings"}
	old, _ := n.store.Object(ref)
	made := old.Clone()
	made.Meta().UID = "another"
	if _, err := n.store.Transact(func(tx *store.Tx) error { tx.PutObject(made); return nil }); err != nil {
		t.Fatal(err)
	}
	w.want("DELETED ConfigMap settings")
	if got, want := w.last.GetObject().GetUid(), string(old.Meta().UID); got != want {
		t.Errorf("got %s as deleted, want %s", got, want)
	}
	w.want("ADDED ConfigMap settings")
}

func TestAWatchOfObjectsFromForgottenHistoryFails(t *testing.T) {
	n := newNode(t)
	n.apply(t, classManifest)
	since := n.store.Revision()
	for i := range 1025 { // one deletion more than is kept
		n.apply(t, strings.Replace(configManifest, "settings", fmt.Sprint("s", i), 1))
		n.drop(t, node.ObjectRef{Kind: node.ConfigMap, Namespace: "default", Name: fmt.Sprint("s", i)})
	}
	w := n.watchObjects(t, t.Context(), &nodev1.WatchObjectsRequest{SinceRevision: since})
	if _, err := w.recv(); status.Code(err) != codes.OutOfRange {
		t.Errorf("by gRPC: got %v, want OutOfRange", err)
	}
	if got := n.do(t, "GET", fmt.Sprint("/v1/objects:watch?sinceRevision=", since), ""); got.status != http.StatusGone {
		t.Errorf("by REST: got %d %s, want 410", got.status, got.body)
	}
}

func TestSecretValuesAreShownToAdminsOnRequest(t *testing.T) {
	n := guarded(t)
	const one, all = "/v1/namespaces/shop/objects/secrets/login", "/v1/objects/secrets"
	put := n.do(t, "PUT", one, secretManifest, "Authorization", tokenOf(t, "admin"))
	if put.status != 200 || strings.Contains(put.body, value) || strings.Contains(put.body, "s3cret") {
		t.Fatalf("put: got %d %s, want it taken and not repeated", put.status, put.body)
	}
	for _, c := range []struct {
		role, path string
		status     int
		shown      bool
	}{
		{"viewer", one, 200, false},
		{"operator", one, 200, false},
		{"admin", one, 200, true},
		{"viewer", all, 200, false},
		{"admin", all, 200, false},
		{"viewer", all + "?values=true", 403, false},
		{"operator", all + "?values=true", 403, false},
		{"admin", all + "?values=true", 200, true},
		{"viewer", "/v1/objects:watch?values=true", 403, false},
		{"operator", "/v1/objects:watch?values=true", 403, false},
	} {
		got := n.do(t, "GET", c.path, "", "Authorization", tokenOf(t, c.role))
		if got.status != c.status || strings.Contains(got.body, value) != c.shown {
			t.Errorf("%s on %s: got %d %s, want %d with the value: %t", c.role, c.path, got.status, got.body, c.status, c.shown)
		}
	}
	if got := n.do(t, "PUT", one, secretManifest, "Authorization", tokenOf(t, "viewer")); got.status != 403 {
		t.Errorf("a viewer puts: got %d %s, want 403", got.status, got.body)
	}
}

func TestAWatchShowsNoValuesOfSecretsUnlessAnAdminAsks(t *testing.T) {
	n := guarded(t)
	n.do(t, "POST", "/v1/manifests", secretManifest, "Authorization", tokenOf(t, "admin"))
	ref := node.ObjectRef{Kind: node.Secret, Namespace: "shop", Name: "login"}
	as := func(role string) context.Context {
		return metadata.AppendToOutgoingContext(t.Context(), "authorization", tokenOf(t, role))
	}
	hidden := n.watchObjects(t, as("viewer"), &nodev1.WatchObjectsRequest{})
	plain := n.watchObjects(t, as("admin"), &nodev1.WatchObjectsRequest{})
	asked := n.watchObjects(t, as("admin"), &nodev1.WatchObjectsRequest{Values: true})
	for _, step := range []string{"ADDED Secret login", "SYNCED", "DELETED Secret login"} {
		if strings.HasPrefix(step, "DELETED") {
			n.drop(t, ref)
		}
		for w, shown := range map[*watched]bool{hidden: false, plain: false, asked: true} {
			w.want(step)
			if got := strings.Contains(w.last.String(), value); w.last.GetObject() != nil && got != shown {
				t.Errorf("%s: got %s, want the value in it: %t", step, w.last, shown)
			}
		}
	}
}

func TestAWatchOfObjectsOverHTTPSendsALineOrAnEventPerMessage(t *testing.T) {
	n := newNode(t)
	n.apply(t, configManifest)
	at := n.store.Revision()
	for accept, want := range map[string]string{
		"": `{"type":"WATCH_TYPE_ADDED",`, "text/event-stream": fmt.Sprint("id: ", at),
	} {
		lines, response := httpWatch(t, n, "/v1/objects:watch?kinds=configmaps", "Accept", accept)
		if !lines.Scan() || !strings.HasPrefix(lines.Text(), want) {
			t.Errorf("Accept %q: got %d %q, want %q", accept, response.StatusCode, lines.Text(), want)
		}
	}
}
