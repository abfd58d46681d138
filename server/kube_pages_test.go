package server

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const mapsOfKube = "/api/v1/namespaces/default/configmaps"

// paged is an answer to a list.
type paged struct {
	Metadata metav1.ListMeta
	Items    []metav1.PartialObjectMetadata
	Rows     []struct{ Cells []any }
	Message  string
	Reason   metav1.StatusReason
}

func (n *node1) page(t *testing.T, path, token string, headers ...string) (status int, p paged) {
	t.Helper()
	if token != "" {
		path += "&continue=" + url.QueryEscape(token)
	}
	got := n.do(t, "GET", path, "", headers...)
	if err := json.Unmarshal([]byte(got.body), &p); err != nil {
		t.Fatal(err)
	}
	return got.status, p
}

func (n *node1) putMap(t *testing.T, name, color string) {
	t.Helper()
	n.apply(t, fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, labels: {app: web}}\ndata: {color: %s}\n", name, color))
}

func namesOf(p paged) string {
	var names []string
	for _, o := range p.Items {
		names = append(names, o.Name)
	}
	return strings.Join(names, " ")
}

func TestListsComeInPages(t *testing.T) {
	n := newNode(t)
	for _, name := range []string{"d", "b", "a", "c", "e"} {
		n.putMap(t, name, "red")
	}
	const path = mapsOfKube + "?limit=2"
	_, first := n.page(t, path, "")
	if first.Metadata.RemainingItemCount == nil || *first.Metadata.RemainingItemCount != 3 || namesOf(first) != "a b" {
		t.Fatalf("the first page is %s, %+v", namesOf(first), first.Metadata)
	}
	n.apply(t, manifestOf("web")) // moves the node's revision, not the list
	n.putMap(t, "a", "blue")      // has been sent
	_, second := n.page(t, path, first.Metadata.Continue)
	if namesOf(second) != "c d" || second.Metadata.ResourceVersion != first.Metadata.ResourceVersion || *second.Metadata.RemainingItemCount != 1 {
		t.Fatalf("the second page is %s, %+v", namesOf(second), second.Metadata)
	}
	_, last := n.page(t, path, second.Metadata.Continue)
	if namesOf(last) != "e" || last.Metadata.Continue != "" || last.Metadata.RemainingItemCount != nil {
		t.Errorf("the last page is %s, %+v", namesOf(last), last.Metadata)
	}
	if _, selected := n.page(t, path+"&labelSelector=app%3Dweb", ""); selected.Metadata.RemainingItemCount != nil || selected.Metadata.Continue == "" {
		t.Errorf("a page of selected objects has %+v", selected.Metadata)
	}
	if _, whole := n.page(t, mapsOfKube+"?limit=5", ""); len(whole.Items) != 5 || whole.Metadata.Continue != "" {
		t.Errorf("a list that fits has %s, %+v", namesOf(whole), whole.Metadata)
	}
	_, rows := n.page(t, path, "", "Accept", "application/json;as=Table;g=meta.k8s.io;v=v1")
	if len(rows.Rows) != 2 || rows.Metadata.Continue == "" {
		t.Errorf("a table has %+v", rows)
	}
}

// What an API server says of a list that it does not have any more.
func TestAPageOfAListThatHasChangedIsGone(t *testing.T) {
	for name, change := range map[string]func(*node1){
		"changed": func(n *node1) { n.putMap(t, "c", "blue") },
		"added":   func(n *node1) { n.putMap(t, "bb", "blue") },
		"deleted": func(n *node1) {
			if got := n.do(t, "DELETE", mapsOfKube+"/c", ""); got.status != http.StatusOK {
				t.Fatalf("got %d %s", got.status, got.body)
			}
		},
	} {
		n := newNode(t)
		for _, name := range []string{"a", "b", "c"} {
			n.putMap(t, name, "red")
		}
		const path = mapsOfKube + "?limit=2"
		_, first := n.page(t, path, "")
		change(n)
		status, gone := n.page(t, path, first.Metadata.Continue)
		if status != http.StatusGone || gone.Reason != metav1.StatusReasonExpired || !strings.HasPrefix(gone.Message, "The provided continue parameter is too old") {
			t.Errorf("%s: got %d %+v", name, status, gone)
		}
		want := map[string]string{"changed": "c", "added": "bb c", "deleted": ""}[name]
		if status, rest := n.page(t, path, gone.Metadata.Continue); status != http.StatusOK || namesOf(rest) != want {
			t.Errorf("%s: the rest is %d %s, want %s", name, status, namesOf(rest), want)
		}
		exact := mapsOfKube + "?resourceVersionMatch=Exact&resourceVersion=" + first.Metadata.ResourceVersion
		if status, got := n.page(t, exact, ""); status != http.StatusGone || !strings.Contains(got.Message, "too old") || got.Metadata.Continue != "" {
			t.Errorf("%s: the list of then is %d %+v", name, status, got)
		}
	}
}

func TestTokensOfPagesAreCheckedAsUpstreamDoes(t *testing.T) {
	n := newNode(t)
	n.putMap(t, "a", "red")
	token := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	for _, c := range []struct {
		name, query string
		status      int
		want        string
	}{
		{"nonsense", "continue=%25%25", 400, "continue key is not valid"},
		{"no JSON", "continue=" + token("x"), 400, "continue key is not valid"},
		{"another kind of JSON", "continue=" + token("[1]"), 400, "continue key is not valid"},
		{"another version", "continue=" + token(`{"v":"v9","rv":1,"start":"a"}`), 400, "does not recognize this encoded version"},
		{"no revision", "continue=" + token(`{"v":"meta.k8s.io/v1","start":"a"}`), 400, "incorrect encoded start resourceVersion"},
		{"a negative revision", "continue=" + token(`{"v":"meta.k8s.io/v1","rv":-7,"start":"a"}`), 400, "incorrect encoded start resourceVersion"},
		{"no start", "continue=" + token(`{"v":"meta.k8s.io/v1","rv":1}`), 400, "encoded start key empty"},
		{"a revision to come", "continue=" + token(`{"v":"meta.k8s.io/v1","rv":9223372036854775807,"start":"a"}`), 410, "too old"},
		{"another place", "continue=" + token(`{"v":"meta.k8s.io/v1","rv":-1,"start":"../../secrets"}`), 200, `"items":[{`},
		{"behind the end", "continue=" + token(`{"v":"meta.k8s.io/v1","rv":-1,"start":"zzz"}`), 200, `"items":[]`},
		{"a version too", "resourceVersion=5&continue=" + token(`{"v":"meta.k8s.io/v1","rv":1,"start":"a"}`), 400, "not allowed when using continue"},
		{"no number", "limit=many", 400, "limit"},
		{"none", "limit=-1", 200, `"items":[{`},
		{"exactly nothing", "resourceVersionMatch=Exact", 400, "needs a resourceVersion"},
	} {
		if got := n.do(t, "GET", mapsOfKube+"?"+c.query, ""); got.status != c.status || !strings.Contains(got.body, c.want) {
			t.Errorf("%s: got %d %s, want %d and %s", c.name, got.status, got.body, c.status, c.want)
		}
	}
}
