package server

import (
	"strings"
	"testing"
)

const (
	setsOfKube = "/apis/apps/v1/namespaces/default/replicasets"
	calmSet    = `{"kind":"ReplicaSet","apiVersion":"apps/v1","metadata":{"name":"calm"},"spec":{"replicas":2,"selector":{"matchLabels":{"app":"calm"}},` +
		`"template":{"metadata":{"labels":{"app":"calm"}},"spec":{"containers":[{"name":"main","image":"registry.test/main:1"}]}}}}`
)

func TestPartsOfWorkloadsAreServed(t *testing.T) {
	const merge = "application/merge-patch+json"
	wider := `{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"calm","namespace":"default"},"spec":{"replicas":5}}`
	n := newNode(t)
	for _, c := range []struct {
		name, method, path, body, kind string
		status                         int
		want                           string
	}{
		{"a set", "POST", "", calmSet, "", 201, `"generation":1`},
		{"the scale", "GET", "/calm/scale", "", "", 200, `"spec":{"replicas":2},"status":{"replicas":0,"selector":"app=calm"}`},
		{"the scale of no set", "GET", "/none/scale", "", "", 404, `replicasets.apps \"none\" not found`},
		{"a dry run of more", "PUT", "/calm/scale?dryRun=All", wider, "", 200, `"replicas":5`},
		{"which changed nothing", "GET", "/calm/scale", "", "", 200, `"replicas":2`},
		{"more", "PUT", "/calm/scale", wider, "", 200, `"spec":{"replicas":5}`},
		{"which is another spec", "GET", "/calm", "", "", 200, `"generation":2`},
		{"of an old version", "PUT", "/calm/scale", strings.Replace(wider, `"name":"calm"`, `"name":"calm","resourceVersion":"1"`, 1), "", 409, `"reason":"Conflict"`},
		{"less, by a patch", "PATCH", "/calm/scale", `{"spec":{"replicas":1}}`, merge, 200, `"spec":{"replicas":1}`},
		{"less than nothing", "PATCH", "/calm/scale", `{"spec":{"replicas":-1}}`, merge, 422, "spec.replicas"},
		{"by another kind of patch", "PATCH", "/calm/scale", `{}`, "application/json", 415, "application/json"},
		{"no change", "PATCH", "/calm/scale", `{}`, merge, 200, `"replicas":1`},
		{"a status", "PATCH", "/calm/status", `{"spec":{"replicas":9},"status":{"replicas":1,"readyReplicas":1}}`, merge, 200, `"readyReplicas":1`},
		{"and nothing else", "GET", "/calm", "", "", 200, `"spec":{"replicas":1,`},
		{"the status alone", "GET", "/calm/status", "", "", 200, `"readyReplicas":1`},
		{"a status of other fields", "PATCH", "/calm/status", `{"status":{"color":"red"}}`, merge, 400, "color"},
		{"a scale with what is there", "GET", "/calm/scale", "", "", 200, `"status":{"replicas":1,`},
		{"another selector", "PATCH", "/calm", `{"spec":{"selector":{"matchLabels":{"app":"x"}}}}`, merge, 422, "Invalid"},
		{"a deletion of another one", "DELETE", "/calm", `{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"x"}}`, "", 409, "Conflict"},
		{"a deletion in no known way", "DELETE", "/calm?propagationPolicy=Sideways", "", "", 400, "Sideways"},
		{"a deletion", "DELETE", "/calm?propagationPolicy=Orphan", "", "", 200, `"status":"Success"`},
		{"after it", "GET", "/calm", "", "", 404, "NotFound"},
	} {
		kind := c.kind
		if kind == "" {
			kind = "application/json"
		}
		got := n.do(t, c.method, setsOfKube+c.path, c.body, "Content-Type", kind)
		if got.status != c.status || !strings.Contains(got.body, c.want) {
			t.Errorf("%s: got %d %.1500s\nwant %d and %s", c.name, got.status, got.body, c.status, c.want)
		}
	}
	for path, want := range map[string]string{
		"/apis/apps/v1":  `"name":"deployments/scale","singularName":"","namespaced":true,"group":"autoscaling","version":"v1","kind":"Scale"`,
		"/apis/batch/v1": `"name":"jobs/status","singularName":"","namespaced":true,"kind":"Job"`,
	} {
		if got := n.do(t, "GET", path, ""); !strings.Contains(got.body, want) {
			t.Errorf("%s: %s", path, got.body)
		}
	}
}

func TestADeletionInTheForegroundShowsTheWorkload(t *testing.T) {
	n := newNode(t)
	n.do(t, "POST", setsOfKube, calmSet, "Content-Type", "application/json")
	uid := between(n.do(t, "GET", setsOfKube+"/calm", "").body, `"uid":"`, `"`)
	n.apply(t, "apiVersion: v1\nkind: Pod\nmetadata:\n  name: mine\n  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: calm, uid: "+uid+
		", controller: true}]\nspec: {containers: [{name: main, image: 'registry.test/main:1'}]}\n")
	got := n.do(t, "DELETE", setsOfKube+"/calm", `{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Foreground"}`, "Content-Type", "application/json")
	if got.status != 200 || !strings.Contains(got.body, `"deletionTimestamp"`) || !strings.Contains(got.body, "foregroundDeletion") {
		t.Errorf("got %d %s", got.status, got.body)
	}
	if got := n.do(t, "GET", podsOfKube+"/mine", ""); got.status == 200 && !strings.Contains(got.body, `"deletionTimestamp"`) {
		t.Errorf("its pod stays: %s", got.body)
	}
}

func between(text, before, after string) string {
	_, text, _ = strings.Cut(text, before)
	text, _, _ = strings.Cut(text, after)
	return text
}
