package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
	"nodal/node/admit"
	"nodal/node/offer"
)

// heard reads the events of a watch of the Kubernetes API.
type heard struct {
	next func() string
	last string // the resourceVersion of the latest event
}

// follow opens a watch after a revision, or from the beginning if it is empty.
func (n *node1) follow(t *testing.T, path, since string) *heard {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return &heard{next: n.lines(ctx, t, path+"?watch=1&allowWatchBookmarks=true&resourceVersion="+since)}
}

// want fails the test unless the next events are these, each a word and a name.
func (h *heard) want(t *testing.T, want ...string) {
	t.Helper()
	for _, w := range want {
		var got struct {
			Type   string
			Object metav1.PartialObjectMetadata
		}
		line := h.next()
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatal(err)
		}
		h.last = got.Object.ResourceVersion
		if is := strings.TrimSpace(got.Type + " " + got.Object.Name); is != w {
			t.Fatalf("got %s, want %s: %s", is, w, line)
		}
	}
}

func mapIn(namespace, name string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: %s}\n", name, namespace)
}

func (n *node1) unmap(t *testing.T, namespace, name string) {
	t.Helper()
	if got := n.do(t, "DELETE", "/api/v1/namespaces/"+namespace+"/configmaps/"+name, ""); got.status != http.StatusOK {
		t.Fatalf("got %d %s", got.status, got.body)
	}
}

func TestNamespacesAreWatched(t *testing.T) {
	n := newNode(t)
	n.apply(t, mapIn("a", "x"))
	h := n.follow(t, "/api/v1/namespaces", "")
	h.want(t, "ADDED a", "ADDED default", "BOOKMARK")
	n.apply(t, mapIn("a", "z")) // tells nothing
	n.apply(t, inNamespace("b", "web"))
	h.want(t, "ADDED b")
	n.unmap(t, "a", "x")
	n.unmap(t, "a", "z")
	h.want(t, "DELETED a")

	one := n.follow(t, "/api/v1/namespaces", "")
	one.want(t, "ADDED b", "ADDED default", "BOOKMARK")
	since := one.last
	n.apply(t, mapIn("b", "new")) // where things were before
	n.apply(t, mapIn("c", "x"))
	n.apply(t, mapIn("gone", "x"))
	n.unmap(t, "gone", "x")
	n.follow(t, "/api/v1/namespaces", since).want(t, "ADDED c", "DELETED gone", "BOOKMARK")
	if got := n.do(t, "GET", "/api/v1/namespaces?watch=1&resourceVersion=99999", ""); got.status != http.StatusGone {
		t.Errorf("a watch of what is to come: got %d %s", got.status, got.body)
	}
	if got := n.do(t, "GET", "/api/v1/namespaces?watch=1&labelSelector=%21%21", ""); got.status != http.StatusBadRequest {
		t.Errorf("a watch by a wrong selector: got %d %s", got.status, got.body)
	}
}

func TestTheNodeIsWatched(t *testing.T) {
	n := newNode(t)
	n.apply(t, manifestOf("web")) // so that it has a revision
	label := func(value string) {
		n.offers.Post(offer.Offer{Node: admit.Node{Name: "node1", Labels: map[string]string{"disk": value}}})
	}
	h := n.follow(t, "/api/v1/nodes", "")
	h.want(t, "ADDED node1", "BOOKMARK")
	since := h.last
	fast := n.follow(t, "/api/v1/nodes", "&labelSelector=disk%3Dfast")
	fast.want(t, "BOOKMARK")
	label("fast")
	h.want(t, "MODIFIED node1")
	fast.want(t, "ADDED node1")
	label("slow")
	h.want(t, "MODIFIED node1")
	fast.want(t, "DELETED node1")
	n.follow(t, "/api/v1/nodes", since).want(t, "MODIFIED node1", "BOOKMARK")
	if got := n.do(t, "GET", "/api/v1/nodes?watch=1&resourceVersion=99999", ""); got.status != http.StatusGone {
		t.Errorf("a watch of what is to come: got %d %s", got.status, got.body)
	}
}

func TestEventsOfTheGroupAreThoseOfTheCore(t *testing.T) {
	n := newNode(t)
	n.apply(t, manifestOf("web"))
	n.events.Add(node.Event{Key: node.Key{Namespace: "default", Name: "web"}, UID: "uid-1", Reason: "Pulled", Message: "it is there", Container: "main"})
	const path = "/apis/events.k8s.io/v1/namespaces/default/events"
	for _, c := range []struct{ name, query, want, without string }{
		{"what they say", "", `"note":"it is there"`, "involvedObject"},
		{"what they are about", "", `"regarding":{"apiVersion":"v1","fieldPath":"spec.containers{main}","kind":"Pod","name":"web"`, "involvedObject"},
		{"by the field of the group", "?fieldSelector=regarding.name%3Dweb", `"reason":"Pulled"`, "involvedObject"},
		{"of others", "?fieldSelector=regarding.name%3Ddb", `"items":[]`, "Pulled"},
	} {
		got := n.do(t, "GET", path+c.query, "")
		if got.status != http.StatusOK || !strings.Contains(got.body, c.want) || strings.Contains(got.body, c.without) {
			t.Errorf("%s: got %d %s, want %s", c.name, got.status, got.body, c.want)
		}
	}
	table := n.do(t, "GET", path, "", "Accept", "application/json;as=Table;g=meta.k8s.io;v=v1")
	if !strings.Contains(table.body, `"Normal","Pulled","pod/web","it is there"`) {
		t.Errorf("the table is %s", table.body)
	}
	n.follow(t, path, "").want(t, "ADDED "+nameOfEvent(t, n.do(t, "GET", path, "").body))
}

func nameOfEvent(t *testing.T, body string) string {
	t.Helper()
	var list paged
	if err := json.Unmarshal([]byte(body), &list); err != nil || len(list.Items) != 1 {
		t.Fatalf("%v: %s", err, body)
	}
	return list.Items[0].Name
}
