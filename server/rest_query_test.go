package server

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"nodal/node"
)

func TestAWatchFromBeforeTheFirstRevisionIsRefused(t *testing.T) {
	n := newNode(t)
	for _, path := range []string{"/v1/pods:watch", "/v1/events:watch"} {
		if got := n.do(t, "GET", path+"?sinceRevision=-1", ""); got.status != http.StatusBadRequest || !strings.Contains(got.body, "sinceRevision -1") {
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
		{"a path without parameters", "GET", web + "?x=1", `query parameter \"x\": this path takes none`},
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

func TestAWrongValueNamesItsParameterAndForm(t *testing.T) {
	n := newNode(t)
	n.apply(t, manifestOf("web"))
	const web = "/v1/namespaces/default/pods/web"
	const logs = web + "/containers/main/logs"
	for _, c := range []struct{ name, method, path, text string }{
		{"a word for a number", "DELETE", web + "?gracePeriodSeconds=soon", `"gracePeriodSeconds": must be a whole number of at most 64 bits, not "soon"`},
		{"the name that protos have", "DELETE", web + "?grace_period_seconds=1s", `"grace_period_seconds": must be a whole number of at most 64 bits, not "1s"`},
		{"a number that is too large", "DELETE", "/v1/manifests?unchangedSince=99999999999999999999", `"unchangedSince": must be a whole number of at most 64 bits, not "99999999999999999999"`},
		{"nothing", "GET", "/v1/pods:watch?sinceRevision", `"sinceRevision": must be a whole number of at most 64 bits, not ""`},
		{"twice", "GET", "/v1/pods?labelSelector=a&labelSelector=b", `"labelSelector": given 2 times; want it once`},
		{"yes", "GET", logs + "?follow=yes", `"follow": must be true or false, not "yes"`},
		{"a stream that is none", "GET", logs + "?stream=stdout", `"stream": must be one of LOG_STREAM_ALL, LOG_STREAM_STDOUT, LOG_STREAM_STDERR, not "stdout"`},
		{"a plus that became a space", "GET", logs + "?sinceTime=2026-05-01T12:00:00+02:00", `"sinceTime": must be a time such as 2026-05-01T12:00:00Z, where a + is written %2B, not "2026-05-01T12:00:00 02:00"`},
		{"a number for a duration", "GET", "/v1/stats:watch?interval=5", `"interval": must be a duration such as 10s, not "5"`},
		{"what the service itself refuses", "GET", logs + "?tailLines=-1", "tailLines -1: must be at least 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := n.do(t, c.method, c.path, "")
			var status struct{ Message string }
			if err := json.Unmarshal([]byte(got.body), &status); err != nil || got.status != http.StatusBadRequest {
				t.Fatalf("got %d %s, want 400 with a status", got.status, got.body)
			}
			if !strings.Contains(status.Message, c.text) {
				t.Errorf("got %q, want %q", status.Message, c.text)
			}
		})
	}
}

func TestEveryQueryParameterButTextHasAForm(t *testing.T) {
	for _, m := range methods(t) {
		for _, path := range m.Paths {
			for _, field := range path.Query {
				if isText := field.Kind() == protoreflect.StringKind; isText != (wanted(field) == "text") {
					t.Errorf("%s: %s, which is %s, has to be %s", path.Pattern, field.JSONName(), field.Kind(), wanted(field))
				}
			}
		}
	}
}
