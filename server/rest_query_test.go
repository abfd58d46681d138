package server

import (
	"net/http"
	"strings"
	"testing"

	"nodal/node"
)

func TestAWatchFromBeforeTheFirstRevisionIsRefused(t *testing.T) {
	n := newNode(t)
	for _, path := range []string{"/v1/pods:watch", "/v1/events:watch"} {
		if got := n.do(t, "GET", path+"?sinceRevision=-1", ""); got.status != http.StatusBadRequest || !strings.Contains(got.body, "since_revision -1") {
			t.Errorf("%s: got %d %s, want 400", path, got.status, got.body)
		}
	}
}

func TestAQueryThatIsNotUnderstoodChangesNothing(t *testing.T) {
	n := newNode(t)
	n.apply(t, manifestOf("web"))
	const web = "/v1/namespaces/default/pods/web"
	for _, c := range []struct{ name, method, path, text string }{
		{"a condition with a typing error", "DELETE", web + "?UID=uid-9", `query parameter \"UID\" is none of [gracePeriodSeconds uid`},
		{"what upstream's API server has", "DELETE", web + "?dryRun=All", "dryRun"},
		{"a path without parameters", "GET", web + "?x=1", `\"x\" is none of []`},
		{"what the path says already", "GET", "/v1/namespaces/default/pods?namespace=other", `\"namespace\" is none of [labelSelector fieldSelector]`},
		{"a condition on a bundle", "DELETE", "/v1/manifests?unchangedsince=0", `\"unchangedsince\" is none of [gracePeriodSeconds unchangedSince]`},
		{"a list", "GET", "/v1/pods?labelselector=app%3Dother", "labelselector"},
		{"a watch", "GET", "/v1/pods:watch?resourceVersion=1", "sinceRevision"},
		{"logs", "GET", web + "/containers/main/logs?tail=1", "tailLines"},
		{"an escape that is none", "DELETE", web + "?uid=%zz", `invalid URL escape`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := n.do(t, c.method, c.path, manifestOf("web")); got.status != http.StatusBadRequest || !strings.Contains(got.body, c.text) {
				t.Errorf("got %d %s, want 400 and %s", got.status, got.body, c.text)
			}
		})
	}
	if view, ok := n.store.View(node.Key{Namespace: "default", Name: "web"}); !ok || view.Slot.Pod.Deletion != nil {
		t.Error("the pod was deleted")
	}
	for _, path := range []string{"/v1/pods?label_selector=app%3Dweb", "/v1/pods?labelSelector=app%3Dweb&namespace=default", "/v1/pods?"} {
		if got := n.do(t, "GET", path, ""); got.status != http.StatusOK {
			t.Errorf("%s: got %d %s", path, got.status, got.body)
		}
	}
}
