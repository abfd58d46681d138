package server

import (
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/intake"
	"nodal/node/manifest"
)

func TestACollectionIsDeletedBySelectors(t *testing.T) {
	for _, c := range []struct {
		name, query, body string
		status            int
		want, left        string
	}{
		{"all", "", "", 200, `"kind":"ConfigMapList"`, ""},
		{"by label", "?labelSelector=app%3Dweb", "", 200, `"name":"a"`, "c"},
		{"by field", "?fieldSelector=metadata.name%3Db", "", 200, `"name":"b"`, "a c"},
		{"none", "?labelSelector=app%3Dnone", "", 200, `"items":[]`, "a b c"},
		{"a dry run", "?dryRun=All", "", 200, `"name":"c"`, "a b c"},
		{"a dry run by the body", "", `{"dryRun":["All"]}`, 200, `"name":"c"`, "a b c"},
		{"the first two", "?limit=2", "", 200, `"continue":`, "c"},
		{"a wrong selector", "?labelSelector=%21%21", "", 400, "selector", "a b c"},
		{"a wrong limit", "?limit=x", "", 400, "limit", "a b c"},
		{"wrong options", "", `[`, 400, "options of the deletion", "a b c"},
		{"a precondition", "", `{"preconditions":{"uid":"x"}}`, 400, "preconditions", "a b c"},
	} {
		n := newNode(t)
		n.putMap(t, "a", "red")
		n.putMap(t, "b", "red")
		n.apply(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n")
		n.apply(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other, namespace: other, labels: {app: web}}\n")
		got := n.do(t, "DELETE", mapsOfKube+c.query, c.body, "Content-Type", "application/json")
		if got.status != c.status || !strings.Contains(got.body, c.want) {
			t.Errorf("%s: got %d %s, want %d and %s", c.name, got.status, got.body, c.status, c.want)
		}
		if _, left := n.page(t, mapsOfKube+"?limit=9", ""); namesOf(left) != c.left {
			t.Errorf("%s: %s are left, want %s", c.name, namesOf(left), c.left)
		}
		if got := n.do(t, "GET", "/api/v1/namespaces/other/configmaps/other", ""); got.status != http.StatusOK {
			t.Errorf("%s: the object of another namespace is gone", c.name)
		}
	}
}

func TestACollectionOfPodsEndsEach(t *testing.T) {
	n := newNode(t)
	n.apply(t, manifestOf("a"))
	n.apply(t, manifestOf("b"))
	n.run(t, "a", node.ContainerRunning)
	n.run(t, "b", node.ContainerRunning)
	got := n.do(t, "DELETE", podsOfKube+"?gracePeriodSeconds=7", "", "Content-Type", "application/json")
	if got.status != http.StatusOK || strings.Count(got.body, `"deletionGracePeriodSeconds":7`) != 2 {
		t.Errorf("got %d %s", got.status, got.body)
	}
}

// What belongs to a file stays, and the others go.
func TestACollectionLosesWhatMayGo(t *testing.T) {
	n := newNode(t)
	for _, name := range []string{"a", "z"} {
		n.apply(t, manifestOf(name))
		n.run(t, name, node.ContainerRunning)
	}
	docs, err := manifest.Decode([]byte(manifestOf("filed")), manifest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	files := intake.Intake{Store: n.store, Source: node.SourceFile, Offer: n.offers.Read, NewUID: func() types.UID { return "filed" }}
	if _, _, err := files.Apply([]intake.Delivery{{Pod: docs[0].Pod, Origin: "/etc/pods/filed.yaml"}}, testNow); err != nil {
		t.Fatal(err)
	}
	got := n.do(t, "DELETE", podsOfKube+"?gracePeriodSeconds=7", "", "Content-Type", "application/json")
	if got.status != http.StatusConflict || !strings.Contains(got.body, "/etc/pods/filed.yaml") || strings.Contains(got.body, "rpc error") || !strings.Contains(got.body, `"name":"filed"`) {
		t.Errorf("got %d %s", got.status, got.body)
	}
	for name, ends := range map[string]bool{"a": true, "z": true, "filed": false} {
		if got := n.do(t, "GET", podsOfKube+"/"+name, ""); strings.Contains(got.body, "deletionTimestamp") != ends {
			t.Errorf("%s ends: %v; got %s", name, !ends, got.body)
		}
	}
}
