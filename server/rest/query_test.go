package rest

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
)

func TestAnUnknownParameterChangesNothing(t *testing.T) {
	behind := &services{}
	h := serve(t, behind)
	const web = "/v1/namespaces/default/pods/web"
	for _, c := range []struct{ name, method, path, text string }{
		{"a condition with a typing error", "DELETE", web + "?UID=uid-9", `query parameter \"UID\" is none of [gracePeriodSeconds uid`},
		{"what upstream's API server has", "DELETE", web + "?dryRun=All", "dryRun"},
		{"a path without parameters", "GET", "/v1/node?x=1", `query parameter \"x\": this path takes none`},
		{"what the path says already", "GET", "/v1/namespaces/default/pods?namespace=other", `\"namespace\" is none of [labelSelector fieldSelector]`},
		{"a condition on a bundle", "DELETE", "/v1/manifests?unchangedsince=0", `\"unchangedsince\" is none of [gracePeriodSeconds unchangedSince]`},
		{"a list", "GET", "/v1/pods?labelselector=app%3Dother", "labelselector"},
		{"a watch", "GET", "/v1/pods:watch?resourceVersion=1", "sinceRevision"},
		{"logs", "GET", web + "/containers/main/logs?tail=1", "tailLines"},
		{"an escape that is none", "DELETE", web + "?uid=%zz", `invalid URL escape`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if code, body := ask(t, h, c.method, c.path); code != http.StatusBadRequest || !strings.Contains(body, c.text) {
				t.Errorf("got %d %s, want 400 and %s", code, body, c.text)
			}
		})
	}
	if behind.deleted > 0 {
		t.Error("something was deleted")
	}
	for _, path := range []string{"/v1/pods?label_selector=app%3Dweb", "/v1/pods?labelSelector=app%3Dweb&namespace=default", "/v1/pods?"} {
		if code, body := ask(t, h, "GET", path); code != http.StatusOK {
			t.Errorf("%s: got %d %s", path, code, body)
		}
	}
	if code, body := ask(t, h, "DELETE", web+"?uid=uid-9"); code != http.StatusOK || behind.deleted != 1 {
		t.Errorf("a known condition: got %d %s", code, body)
	}
}

func TestAWrongValueNamesItsParameterAndForm(t *testing.T) {
	h := serve(t, &services{})
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
		{"a word for a number", "GET", "/v1/audit?limit=all", `"limit": must be a whole number of at most 32 bits, not "all"`},
		{"a number for a duration", "GET", "/v1/stats:watch?interval=5", `"interval": must be a duration such as 10s, not "5"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, body := ask(t, h, c.method, c.path)
			var status struct{ Message string }
			if err := json.Unmarshal([]byte(body), &status); err != nil || code != http.StatusBadRequest {
				t.Fatalf("got %d %s, want 400 with a status", code, body)
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
				if isText := field.Kind() == protoreflect.StringKind; isText != (formOf(field) == "text") {
					t.Errorf("%s: %s, which is %s, has to be %s", path.Pattern, field.JSONName(), field.Kind(), formOf(field))
				}
			}
		}
	}
}
