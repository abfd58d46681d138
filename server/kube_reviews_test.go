package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/server/auth"
)

const (
	accessReviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
	rulesReviews  = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
	selfReviews   = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
)

// asker asks a node as one caller.
type asker struct {
	*node1
	bearer string
}

func (a asker) ask(t *testing.T, method, path, body string) answer {
	t.Helper()
	return a.do(t, method, path, body, "Authorization", a.bearer, "Content-Type", "application/json")
}

func (a asker) allowed(t *testing.T, of authorizationv1.ResourceAttributes) (bool, string) {
	t.Helper()
	body, err := json.Marshal(authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &of}})
	if err != nil {
		t.Fatal(err)
	}
	var review authorizationv1.SelfSubjectAccessReview
	got := a.ask(t, "POST", accessReviews, string(body))
	if err := json.Unmarshal([]byte(got.body), &review); err != nil || got.status != http.StatusCreated {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	return review.Status.Allowed, review.Status.Reason
}

// askers returns callers with each role, and with those that can be narrowed to namespace dev.
func askers(t *testing.T, n *node1, a *auth.Authenticator) map[string]asker {
	t.Helper()
	all := map[string]asker{}
	for _, role := range []string{"viewer", "operator", "admin"} {
		all[role] = asker{n, tokenOf(t, role)}
		if role == "admin" {
			continue
		}
		name := "reviewed-" + role
		secret, _, err := a.CreateToken(t.Context(), auth.NewToken{Name: name, Role: auth.Role(role), Namespaces: []string{"dev"}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := a.RevokeToken(name); err != nil {
				t.Error(err)
			}
		})
		all["narrowed "+role] = asker{n, "Bearer " + secret}
	}
	return all
}

// served lists every resource and part with its verbs, as discovery tells of them.
func served(t *testing.T, n *node1) (all []metav1.APIResource) {
	t.Helper()
	roots := []string{"/api/v1"}
	var groups metav1.APIGroupList
	if err := json.Unmarshal([]byte(n.do(t, "GET", "/apis", "", "Authorization", tokenOf(t, "admin")).body), &groups); err != nil {
		t.Fatal(err)
	}
	for _, g := range groups.Groups {
		roots = append(roots, "/apis/"+g.PreferredVersion.GroupVersion)
	}
	for _, root := range roots {
		var list metav1.APIResourceList
		if err := json.Unmarshal([]byte(n.do(t, "GET", root, "", "Authorization", tokenOf(t, "admin")).body), &list); err != nil {
			t.Fatal(err)
		}
		for _, r := range list.APIResources {
			r.Group, r.Version, _ = strings.Cut(strings.TrimPrefix(strings.TrimPrefix(root, "/apis/"), "/api/"), "/")
			if r.Version == "" {
				r.Group, r.Version = "", r.Group
			}
			all = append(all, r)
		}
	}
	return all
}

// direct returns the request that a verb stands for, about an object that is not there. It is written down here once more,
// so that it does not ask the code that answers reviews.
func direct(r metav1.APIResource, verb, namespace string) (method, path string) {
	plural, part, _ := strings.Cut(r.Name, "/")
	path = "/apis/" + r.Group + "/" + r.Version
	if r.Group == "" {
		path = "/api/" + r.Version
	}
	if r.Namespaced && namespace != "" {
		path += "/namespaces/" + namespace
	}
	path += "/" + plural
	if part != "" {
		path += "/none/" + part
	}
	one := ""
	if part == "" {
		one = "/none"
	}
	switch verb {
	case "get":
		return "GET", path + one
	case "list":
		return "GET", path
	case "watch":
		return "GET", path + "?watch=1&resourceVersion=999999999" // which ends at once
	case "create":
		return "POST", path
	case "update":
		return "PUT", path + one
	case "patch":
		return "PATCH", path + one
	case "delete":
		return "DELETE", path + one
	case "deletecollection":
		return "DELETE", path + "?labelSelector=app%3Dnone"
	}
	return "", ""
}

// The answer to "may I" is what the request itself gets, for each role, resource and verb.
func TestAccessReviewsAnswerAsTheRequestsThemselves(t *testing.T) {
	n, a := newShared(t)
	resources := served(t, n)
	for name, caller := range askers(t, n, a) {
		t.Run(name, func(t *testing.T) {
			yes, no := 0, 0
			for _, r := range resources {
				for _, verb := range r.Verbs {
					for _, namespace := range []string{"dev", "prod", ""} {
						if namespace == "" && r.Namespaced && verb != "list" && verb != "watch" {
							continue // in all namespaces at once: see below
						}
						plural, part, _ := strings.Cut(r.Name, "/")
						allowed, why := caller.allowed(t, authorizationv1.ResourceAttributes{
							Namespace: namespace, Verb: verb, Group: r.Group, Version: r.Version, Resource: plural, Subresource: part,
						})
						method, path := direct(r, verb, namespace)
						body, kind := "", ""
						if method != "GET" && method != "DELETE" {
							body, kind = "{}", "application/json"
						}
						if method == "PATCH" {
							kind = "application/merge-patch+json"
						}
						got := caller.do(t, method, path, body, "Authorization", caller.bearer, "Content-Type", kind)
						if (got.status != http.StatusForbidden) != allowed {
							t.Errorf("%s of %s.%s in %q: the review says %v (%s), %s %s gets %d %s", verb, r.Name, r.Group, namespace, allowed, why, method, path, got.status, got.body)
						}
						if allowed {
							yes++
						} else {
							no++
						}
						if !allowed && why == "" {
							t.Errorf("%s of %s: no reason is told", verb, r.Name)
						}
					}
				}
			}
			t.Logf("%d allowed, %d not", yes, no)
			if yes == 0 || (no == 0) != (name == "admin") {
				t.Errorf("%d allowed and %d not", yes, no)
			}
		})
	}
}

func TestAccessReviewsOfManyThingsAtOnce(t *testing.T) {
	n, a := newShared(t)
	callers := askers(t, n, a)
	for _, c := range []struct {
		name, caller string
		of           authorizationv1.ResourceAttributes
		want         bool
	}{
		{"everything", "admin", authorizationv1.ResourceAttributes{Verb: "*", Group: "*", Resource: "*"}, true},
		{"everything", "operator", authorizationv1.ResourceAttributes{Verb: "*", Group: "*", Resource: "*"}, false}, // patches of Secrets
		{"everything in a namespace", "narrowed operator", authorizationv1.ResourceAttributes{Verb: "*", Resource: "pods", Namespace: "dev"}, true},
		{"everything in all namespaces", "narrowed operator", authorizationv1.ResourceAttributes{Verb: "delete", Resource: "pods"}, false},
		{"pods in all namespaces", "operator", authorizationv1.ResourceAttributes{Verb: "delete", Resource: "pods"}, true},
		{"reading all", "viewer", authorizationv1.ResourceAttributes{Verb: "get", Group: "*", Resource: "*"}, true},
		{"all parts", "viewer", authorizationv1.ResourceAttributes{Verb: "*", Resource: "pods", Subresource: "*"}, false},
		{"a named object", "viewer", authorizationv1.ResourceAttributes{Verb: "get", Resource: "pods", Name: "web", Namespace: "dev"}, true},
		{"what is not there", "admin", authorizationv1.ResourceAttributes{Verb: "get", Group: "networking.k8s.io", Resource: "ingresses"}, false},
		{"another version", "admin", authorizationv1.ResourceAttributes{Verb: "get", Version: "v2", Resource: "pods"}, false},
		{"a verb that is not there", "admin", authorizationv1.ResourceAttributes{Verb: "escalate", Resource: "pods"}, false},
	} {
		if got, why := callers[c.caller].allowed(t, c.of); got != c.want {
			t.Errorf("%s by %s: got %v (%s), want %v", c.name, c.caller, got, why, c.want)
		}
	}
}

func TestAccessReviewsOfPaths(t *testing.T) {
	n, a := newShared(t)
	callers := askers(t, n, a)
	for _, c := range []struct {
		path, verb string
		who        []string
	}{
		{"/healthz", "get", []string{"admin", "narrowed operator", "narrowed viewer", "operator", "viewer"}},
		{"/openapi/v3", "get", []string{"admin", "narrowed operator", "narrowed viewer", "operator", "viewer"}},
		{"/metrics", "get", []string{"admin", "operator", "viewer"}},
		{"/debug/pprof/heap", "get", []string{"admin"}},
		{"/v1/namespaces/dev/pods", "get", []string{"admin", "narrowed operator", "narrowed viewer", "operator", "viewer"}},
		{"/v1/namespaces/prod/pods", "get", []string{"admin", "operator", "viewer"}},
		{"/exec/prod/hidden/main", "post", []string{"admin", "operator"}},
		{"/metrics", "delete", nil},
		{"/nowhere", "get", nil},
	} {
		var who []string
		for _, name := range slices.Sorted(maps.Keys(callers)) {
			got := callers[name].ask(t, "POST", accessReviews, fmt.Sprintf(`{"spec":{"nonResourceAttributes":{"path":%q,"verb":%q}}}`, c.path, c.verb))
			if got.status != http.StatusCreated {
				t.Fatalf("got %d %s", got.status, got.body)
			}
			if strings.Contains(got.body, `"allowed":true`) {
				who = append(who, name)
			}
			itself := callers[name].do(t, strings.ToUpper(c.verb), c.path, "", "Authorization", callers[name].bearer)
			if denied := itself.status == http.StatusForbidden; denied != !slices.Contains(who, name) && c.who != nil {
				t.Errorf("%s %s by %s gets %d", c.verb, c.path, name, itself.status)
			}
		}
		if !slices.Equal(who, c.who) {
			t.Errorf("%s %s: %v may, want %v", c.verb, c.path, who, c.who)
		}
	}
}

// The list of all rights says of each the same as the question about it.
func TestRulesReviewsListWhatAccessReviewsAllow(t *testing.T) {
	n, a := newShared(t)
	resources := served(t, n)
	for name, caller := range askers(t, n, a) {
		for _, namespace := range []string{"dev", "prod"} {
			got := caller.ask(t, "POST", rulesReviews, fmt.Sprintf(`{"spec":{"namespace":%q}}`, namespace))
			var review authorizationv1.SelfSubjectRulesReview
			if err := json.Unmarshal([]byte(got.body), &review); err != nil || got.status != http.StatusCreated {
				t.Fatalf("got %d %s", got.status, got.body)
			}
			listed := map[string]bool{}
			for _, rule := range review.Status.ResourceRules {
				for _, verb := range rule.Verbs {
					listed[verb+" "+rule.Resources[0]+"."+rule.APIGroups[0]] = true
				}
			}
			for _, r := range resources {
				for _, verb := range r.Verbs {
					plural, part, _ := strings.Cut(r.Name, "/")
					allowed, _ := caller.allowed(t, authorizationv1.ResourceAttributes{
						Namespace: namespace, Verb: verb, Group: r.Group, Resource: plural, Subresource: part,
					})
					if what := verb + " " + r.Name + "." + r.Group; listed[what] != allowed {
						t.Errorf("%s by %s in %s: it is listed: %v, it is allowed: %v", what, name, namespace, listed[what], allowed)
					}
				}
			}
			if admin := strings.Contains(got.body, "/v1/audit"); admin != (name == "admin") {
				t.Errorf("by %s the paths are %v", name, review.Status.NonResourceRules)
			}
		}
	}
}

func TestSelfReviewsSayWhoTheCallerIs(t *testing.T) {
	n, a := newShared(t)
	callers := askers(t, n, a)
	for name, want := range map[string]authenticationv1.UserInfo{
		"admin": {Username: "admin", Extra: map[string]authenticationv1.ExtraValue{"nodal.node/role": {"admin"}}},
		"narrowed viewer": {
			Username: "reviewed-viewer", Extra: map[string]authenticationv1.ExtraValue{"nodal.node/role": {"viewer"}, "nodal.node/namespace": {"dev"}},
		},
	} {
		got := callers[name].ask(t, "POST", selfReviews, `{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1"}`)
		var review authenticationv1.SelfSubjectReview
		if err := json.Unmarshal([]byte(got.body), &review); err != nil || got.status != http.StatusCreated {
			t.Fatalf("got %d %s", got.status, got.body)
		}
		is := review.Status.UserInfo
		if is.Username != want.Username || fmt.Sprint(is.Extra) != fmt.Sprint(want.Extra) {
			t.Errorf("%s is %+v, want %+v", name, is, want)
		}
	}
}

func TestReviewsThatAskNothing(t *testing.T) {
	n, _ := newShared(t)
	caller := asker{n, tokenOf(t, "viewer")}
	for _, c := range []struct {
		name, path, body string
		status           int
		want             string
	}{
		{"nothing", accessReviews, `{"spec":{}}`, 422, "exactly one of nonResourceAttributes or resourceAttributes"},
		{"two things", accessReviews, `{"spec":{"resourceAttributes":{},"nonResourceAttributes":{}}}`, 422, "exactly one"},
		{"no JSON", accessReviews, `{`, 400, "read the review"},
		{"no body", accessReviews, "", 400, "the body is empty"},
		{"all namespaces", rulesReviews, `{"spec":{}}`, 400, "no namespace"},
		{"rules without JSON", rulesReviews, `[`, 400, "read the review"},
	} {
		if got := caller.ask(t, "POST", c.path, c.body); got.status != c.status || !strings.Contains(got.body, c.want) {
			t.Errorf("%s: got %d %s, want %d and %s", c.name, got.status, got.body, c.status, c.want)
		}
	}
}

// A request in another's name would be answered by the rights of the caller.
func TestTheKubernetesAPIDoesNotActForOthers(t *testing.T) {
	n, _ := newShared(t)
	for _, path := range []string{"/api/v1/namespaces/dev/pods/visible", "/api/v1/namespaces/dev/pods/visible/log"} {
		got := n.do(t, "GET", path, "", "Authorization", tokenOf(t, "admin"), "Impersonate-User", "bob")
		if got.status != http.StatusForbidden || !strings.Contains(got.body, `credential of \"bob\"`) {
			t.Errorf("%s: got %d %s", path, got.status, got.body)
		}
	}
}
