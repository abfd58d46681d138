package server

import (
	"net/http"
	"strings"
	"testing"

	"nodal/node"
)

const limitedPod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n" +
	"  - {name: main, image: registry.test/main:1, resources: {requests: {cpu: 100m}, limits: {cpu: 200m, memory: 64Mi}}}\n"

func TestPartsOfPodsAreServed(t *testing.T) {
	const merge, strategic = "application/merge-patch+json", "application/strategic-merge-patch+json"
	more := `{"metadata":{"labels":{"ignored":"yes"}},"spec":{"containers":[{"name":"main","resources":{"limits":{"cpu":"300m"}}}]}}`
	whole := `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web"},"spec":{"containers":[{"name":"main","image":"other:9","resources":{"requests":{"cpu":"150m"},"limits":{"cpu":"400m","memory":"64Mi"}}}]}}`
	debugger := `{"spec":{"ephemeralContainers":[{"name":"debugger","image":"registry.test/tools:1"}]}}`
	eviction := `{"kind":"Eviction","apiVersion":"policy/v1","metadata":{"name":"web"}}`
	n := newNode(t)
	n.apply(t, limitedPod)
	n.run(t, "web", node.ContainerRunning)
	for _, c := range []struct {
		name, method, path, body, kind string
		status                         int
		want                           string
	}{
		{"the status", "GET", "/web/status", "", "", 200, `"phase":"Running"`},
		{"the status of no pod", "GET", "/none/status", "", "", 404, `pods \"none\" not found`},
		{"what it may use", "GET", "/web/resize", "", "", 200, `"cpu":"200m"`},
		{"a dry run of more", "PATCH", "/web/resize?dryRun=All", more, strategic, 200, `"cpu":"300m"`},
		{"which changed nothing", "GET", "/web", "", "", 200, `"limits":{"cpu":"200m"`},
		{"more", "PATCH", "/web/resize", more, strategic, 200, `"cpu":"300m"`},
		{"and nothing else", "GET", "/web?x=labels", "", "", 200, `"uid":"uid-1"`},
		{"more, by the whole pod", "PUT", "/web/resize", whole, "", 200, `"cpu":"400m"`},
		{"whose image stays", "GET", "/web", "", "", 200, `"image":"registry.test/main:1"`},
		{"of an old version", "PUT", "/web/resize", strings.Replace(whole, `"name":"web"`, `"name":"web","resourceVersion":"1"`, 1), "", 409, `"reason":"Conflict"`},
		{"of another class of service", "PATCH", "/web/resize", `{"spec":{"containers":[{"name":"main","resources":null}]}}`, merge, 422, `"reason":"Invalid"`},
		{"of a container that is not there", "PATCH", "/web/resize", `{"spec":{"containers":[{"name":"new","image":"x"}]}}`, strategic, 422, "may not be added"},
		{"of another pod", "PATCH", "/web/resize", `{"metadata":{"name":"x"}}`, merge, 400, "metadata.name"},
		{"by a wrong patch", "PATCH", "/web/resize", `{`, merge, 400, "apply the patch"},
		{"by another kind of patch", "PATCH", "/web/resize", `{}`, "application/json", 415, "application/json"},
		{"by nothing", "PUT", "/web/resize", "", "", 400, "BadRequest"},
		{"of no pod", "PATCH", "/none/resize", more, strategic, 404, "NotFound"},
		{"no change", "PATCH", "/web/resize", `{}`, merge, 200, `"cpu":"400m"`},
		{"a container to debug", "PATCH", "/web/ephemeralcontainers", debugger, strategic, 200, `"name":"debugger"`},
		{"which stays", "PATCH", "/web/ephemeralcontainers", strings.Replace(debugger, "tools:1", "tools:2", 1), strategic, 422, "Invalid"},
		{"eviction of another name", "POST", "/web/eviction", strings.Replace(eviction, "web", "x", 1), "", 400, "name in URL does not match name in Eviction object"},
		{"no eviction", "POST", "/web/eviction", `[`, "", 400, "read the eviction"},
		{"a dry run of eviction", "POST", "/web/eviction?dryRun=All", eviction, "", 201, "Success"},
		{"eviction of another pod", "POST", "/web/eviction", strings.Replace(eviction, `}}`, `},"deleteOptions":{"preconditions":{"uid":"x"}}}`, 1), "", 409, "Conflict"},
		{"after none of them", "GET", "/web", "", "", 200, `"phase":"Running"`},
		{"eviction", "POST", "/web/eviction", strings.Replace(eviction, `}}`, `},"deleteOptions":{"gracePeriodSeconds":9}}`, 1), "", 201, `"status":"Success"`},
		{"within its time", "GET", "/web", "", "", 200, `"deletionGracePeriodSeconds":9`},
		{"eviction of no pod", "POST", "/none/eviction", strings.Replace(eviction, "web", "none", 1), "", 404, "NotFound"},
	} {
		kind := c.kind
		if kind == "" {
			kind = "application/json"
		}
		got := n.do(t, c.method, podsOfKube+c.path, c.body, "Content-Type", kind)
		if got.status != c.status || !strings.Contains(got.body, c.want) {
			t.Errorf("%s: got %d %.1500s\nwant %d and %s", c.name, got.status, got.body, c.status, c.want)
		}
	}
	if got := n.do(t, "GET", podsOfKube+"/web", ""); strings.Contains(got.body, "ignored") {
		t.Error("a resize has changed the labels")
	}
	if got := n.do(t, "GET", "/api/v1", ""); got.status != http.StatusOK || !strings.Contains(got.body, `"name":"pods/eviction","singularName":"","namespaced":true,"group":"policy","version":"v1","kind":"Eviction"`) {
		t.Errorf("discovery: %s", got.body)
	}
}
