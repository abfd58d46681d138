package server

import (
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/past"
)

// recalling is a node that has recorded a pod: it was there at revision 1, and gone at revision 2.
func recalling(t *testing.T, kept func(node.Key, int64) (*past.State, error)) *node1 {
	t.Helper()
	a := newAuth(t, false)
	n := newNode(t, func(c *Config) { c.Front.Auth, c.Machine.PastPod = a, kept })
	if got := n.do(t, "POST", "/v1/manifests", tellingPod, "Authorization", tokenOf(t, "admin")); got.status != http.StatusOK {
		t.Fatalf("apply: got %d %s", got.status, got.body)
	}
	return n
}

func TestAPodIsShownAsItWas(t *testing.T) {
	var n *node1
	n = recalling(t, func(key node.Key, at int64) (*past.State, error) {
		view, _ := n.store.View(node.Key{Namespace: "default", Name: "telling"})
		s := &past.State{Revision: 1, At: time.Unix(1_764_000_000, 0), Key: key, Pod: view.Slot.Pod, Status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted"}}
		switch {
		case key.Name != "telling":
			return nil, nil
		case at == 3:
			return nil, node.ErrCompacted
		}
		s.Gone = at == 2
		return s, nil
	})
	for range 5 {
		n.events.Add(node.Event{Reason: "Later"}) // under the next revision
	}
	for _, c := range []struct {
		name, path, role string
		code             int
		has, without     string
	}{
		{"as it was", "telling?at=1", "admin", 200, `"revision":"1"`, "Pending"},
		{"with its status", "telling?at=1", "admin", 200, `"reason":"Evicted"`, "Pending"},
		{"since when", "telling?at=1", "admin", 200, `"since":"2025-11-24T16:00:00Z"`, "Pending"},
		{"to an operator with its environment", "telling?at=1", "operator", 200, "hunter2", "hidden from viewers"},
		{"to a viewer without", "telling?at=1", "viewer", 200, "hidden from viewers", "hunter2"},
		{"as it is", "telling?at=0", "admin", 200, "POD_PHASE_PENDING", "since"},
		{"gone", "telling?at=2", "admin", 404, "at revision 2: it was gone since revision 1", "phase"},
		{"not there", "other?at=1", "admin", 404, "default/other at revision 1: there was none", "phase"},
		{"before what is kept", "telling?at=3", "admin", 410, "", "phase"},
		{"in the future", "telling?at=99999999", "admin", 400, "at=99999999: the node is at revision ", "phase"},
		{"before the beginning", "telling?at=-1", "admin", 400, "must be at least 0", "phase"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := n.do(t, "GET", "/v1/namespaces/default/pods/"+c.path, "", "Authorization", tokenOf(t, c.role))
			body := strings.ReplaceAll(got.body, `": `, `":`)
			if got.status != c.code || !strings.Contains(body, c.has) || strings.Contains(body, c.without) {
				t.Errorf("got %d %s, want %d with %s and without %s", got.status, body, c.code, c.has, c.without)
			}
		})
	}
}

func TestANodeThatRecordsNoPodsSaysSo(t *testing.T) {
	n := recalling(t, nil)
	got := n.do(t, "GET", "/v1/namespaces/default/pods/telling?at=1", "", "Authorization", tokenOf(t, "admin"))
	if got.status != http.StatusNotImplemented || !strings.Contains(got.body, "--pod-history-size") {
		t.Errorf("got %d %s, want that nothing is recorded", got.status, got.body)
	}
}
