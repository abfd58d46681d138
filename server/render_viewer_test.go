package server

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/node/manifest/rules"
	"nodal/node/store"
	"nodal/server/auth"
)

// tellingPod has a word that few may know in each kind of container, and in what
// kubectl remembers.
const tellingPod = `apiVersion: v1
kind: Pod
metadata:
  name: telling
  labels: {app: telling}
  annotations:
    note: kept
    kubectl.kubernetes.io/last-applied-configuration: '{"spec":{"containers":[{"env":[{"value":"hunter2"}]}]}}'
spec:
  initContainers:
  - {name: first, image: "registry.test/main:1", env: [{name: FIRST, value: hunter2}]}
  containers:
  - {name: main, image: "registry.test/main:1", env: [{name: MAIN, value: hunter2}, {name: SELF, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]}
`

const tellingLook = "  ephemeralContainers:\n  - {name: look, image: \"registry.test/main:1\", env: [{name: LOOK, value: hunter2}]}\n"

// alices is a cluster in which one user may read.
type alices struct{}

func (alices) Review(_ context.Context, token string) (auth.Identity, bool, error) {
	return auth.Identity{Name: "alice"}, token == "alice", nil
}

func (alices) Allows(context.Context, auth.Identity, auth.Access) (bool, error) { return true, nil }

// telling returns a node with that pod, and a cluster that knows alice.
func telling(t *testing.T) *node1 {
	n := newNode(t, func(c *Config) {
		material, err := auth.Bootstrap(auth.Dirs{Root: credentials}, []string{"localhost"}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if c.Front.Auth, err = auth.New(auth.Config{Material: *material, Tokens: alices{}, Access: alices{}}); err != nil {
			t.Fatal(err)
		}
	})
	for _, text := range []string{tellingPod, tellingPod + tellingLook} {
		if got := n.do(t, "POST", "/v1/manifests", text, "Authorization", tokenOf(t, "operator")); got.status != http.StatusOK {
			t.Fatalf("apply: got %d %s", got.status, got.body)
		}
		n.run(t, "telling", node.ContainerRunning)
	}
	return n
}

// judge checks which values of the pod an answer shows.
func judge(t *testing.T, text string, hidden bool) {
	t.Helper()
	values, marks := 4, 0 // three containers and what kubectl remembers
	if hidden {
		values, marks = 0, 3
	}
	if got := strings.Count(text, "hunter2"); got != values {
		t.Errorf("got the value %d times, want %d: %s", got, values, text)
	}
	if got := strings.Count(text, rules.Hidden); got != marks {
		t.Errorf("got %q %d times, want %d: %s", rules.Hidden, got, marks, text)
	}
	for _, kept := range []string{"MAIN", "FIRST", "LOOK", "metadata.name", "note"} {
		if !strings.Contains(text, kept) {
			t.Errorf("got no %s: %s", kept, text)
		}
	}
}

func TestViewersSeeNoValuesInEnvironments(t *testing.T) {
	n := telling(t)
	readers := []struct {
		name   string
		bearer string
		hidden bool
	}{
		{"viewer", tokenOf(t, "viewer"), true},
		{"operator", tokenOf(t, "operator"), false},
		{"admin", tokenOf(t, "admin"), false},
		{"a cluster's user", "Bearer alice", false},
	}
	const one = "/v1/namespaces/default/pods/telling"
	client := nodev1.NewPodsServiceClient(n.dial(t))
	for _, r := range readers {
		for _, path := range []string{
			"/pods", "/v1/pods", "/v1/namespaces/default/pods", one,
			"/v1/pods?labelSelector=app%3Dtelling", "/v1/pods?fieldSelector=status.phase%3DRunning",
		} {
			t.Run(r.name+" "+path, func(t *testing.T) {
				for range 2 { // the second is not rendered again
					judge(t, n.do(t, "GET", path, "", "Authorization", r.bearer).body, r.hidden)
				}
			})
		}
		t.Run(r.name+" by gRPC", func(t *testing.T) {
			ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", r.bearer)
			got, err := client.GetPod(ctx, &nodev1.GetPodRequest{Namespace: "default", Name: "telling"})
			judgeMessage(t, got, err, r.hidden)
			list, err := client.ListPods(ctx, &nodev1.ListPodsRequest{})
			judgeMessage(t, list, err, r.hidden)
			watch, err := client.WatchPods(ctx, &nodev1.WatchPodsRequest{})
			if err != nil {
				t.Fatal(err)
			}
			first, err := watch.Recv()
			judgeMessage(t, first, err, r.hidden)
		})
	}
	for _, path := range []string{"/pods", "/v1/pods", one} {
		t.Run("read-only port "+path, func(t *testing.T) {
			judge(t, ask(t, n.server.ReadOnly(), "GET", path, "").body, true)
		})
	}
	if got := n.do(t, "GET", "/runningpods/", "", "Authorization", tokenOf(t, "viewer")); strings.Contains(got.body, "hunter2") || !strings.Contains(got.body, "telling") {
		t.Errorf("/runningpods/: got %s, want the pod without values", got.body)
	}
}

func judgeMessage(t *testing.T, m proto.Message, err error, hidden bool) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	text, err := protojson.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	judge(t, string(text), hidden)
}

func TestASessionOfAViewerSeesNoValues(t *testing.T) {
	n := telling(t)
	for role, hidden := range map[string]bool{"viewer": true, "operator": false} {
		w := browse(t, n, "POST", "/ui/session", `{"token":"`+strings.TrimPrefix(tokenOf(t, role), "Bearer ")+`"}`)
		cookie, _, _ := strings.Cut(w.Header().Get("Set-Cookie"), ";")
		judge(t, browse(t, n, "GET", "/v1/pods", "", "Cookie", cookie).Body.String(), hidden)
	}
}

func TestAViewersWatchShowsNoValuesLater(t *testing.T) {
	n := telling(t)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", tokenOf(t, "viewer"))
	watch, err := nodev1.NewPodsServiceClient(n.dial(t)).WatchPods(ctx, &nodev1.WatchPodsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the pod and the marker
		if _, err := watch.Recv(); err != nil {
			t.Fatal(err)
		}
	}
	n.run(t, "telling")
	changed, err := watch.Recv()
	judgeMessage(t, changed, err, true)
	n.forget(t, "telling")
	gone, err := watch.Recv()
	judgeMessage(t, gone, err, true)
}

func TestAViewersAnswerCannotBeApplied(t *testing.T) {
	n := telling(t)
	shown := n.do(t, "GET", "/pods", "", "Authorization", tokenOf(t, "viewer")).body
	got := n.do(t, "POST", "/v1/manifests", shown, "Authorization", tokenOf(t, "admin"))
	if got.status != http.StatusBadRequest || !strings.Contains(got.body, "spec.containers[0].env[0].value") {
		t.Errorf("got %d %s, want 400 and the field", got.status, got.body)
	}
	judge(t, n.do(t, "GET", "/pods", "", "Authorization", tokenOf(t, "admin")).body, false)
}

func TestAllViewersShareOneRendering(t *testing.T) {
	n := telling(t)
	views, _ := n.store.Views()
	render := newRenderers(node.Site{NodeName: "node1"}).of(auth.NewContext(t.Context(), auth.Identity{Role: auth.RoleViewer}))
	var first []byte
	for i := range 2 {
		pods, err := render.list(views, func(store.View) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = pods[0].object
		} else if &first[0] != &pods[0].object[0] {
			t.Error("got a second rendering of the same revision, want the first one again")
		}
	}
}
