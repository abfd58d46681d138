package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

func podList(t *testing.T, a answer) corev1.PodList {
	t.Helper()
	var list corev1.PodList
	if err := json.Unmarshal([]byte(a.body), &list); err != nil || a.status != http.StatusOK {
		t.Fatalf("got %d %s: %v", a.status, a.body, err)
	}
	if list.Kind != "PodList" || list.APIVersion != "v1" {
		t.Errorf("got a %s of %s, want a PodList of v1", list.Kind, list.APIVersion)
	}
	return list
}

func TestPodsShowsAPodUntilItIsGone(t *testing.T) {
	n := newNode(t)
	if got := n.do(t, "GET", "/pods", ""); !strings.Contains(got.body, `"items":[]`) {
		t.Errorf("no pods: got %s, want an empty list", got.body)
	}
	n.apply(t, manifestOf("a"))
	n.apply(t, manifestOf("b"))
	n.run(t, "b", node.ContainerRunning)
	list := podList(t, n.do(t, "GET", "/pods", ""))
	if len(list.Items) != 2 || list.Items[1].Status.Phase != corev1.PodRunning || list.Items[1].Status.PodIP != "10.0.0.7" {
		t.Errorf("got %+v", list.Items)
	}
	n.do(t, "DELETE", "/v1/namespaces/default/pods/b", "")
	b := podList(t, n.do(t, "GET", "/pods", "")).Items[1]
	if b.DeletionTimestamp == nil || *b.DeletionGracePeriodSeconds != 30 || !b.DeletionTimestamp.Time.Equal(testNow.Add(30e9)) {
		t.Errorf("terminating: got %v and %v", b.DeletionTimestamp, b.DeletionGracePeriodSeconds)
	}
	n.forget(t, "b")
	if list := podList(t, n.do(t, "GET", "/pods", "")); len(list.Items) != 1 {
		t.Errorf("after the end: got %d pods, want 1", len(list.Items))
	}
}

func hundredPods(b *testing.B) *node1 {
	n := newNode(b)
	for i := range 100 {
		name := fmt.Sprintf("pod-%d", i)
		n.apply(b, manifestOf(name))
		n.run(b, name, node.ContainerRunning)
	}
	return n
}

func BenchmarkPodsOf100(b *testing.B) {
	n := hundredPods(b)
	for b.Loop() {
		n.do(b, "GET", "/pods", "")
	}
}

func BenchmarkPodsOf100AllChanged(b *testing.B) {
	n := hundredPods(b)
	for b.Loop() {
		for i := range 100 {
			n.run(b, fmt.Sprintf("pod-%d", i), node.ContainerRunning)
		}
		n.do(b, "GET", "/pods", "")
	}
}

func BenchmarkListPodsOf100OverREST(b *testing.B) {
	n := hundredPods(b)
	for b.Loop() {
		n.do(b, "GET", "/v1/pods", "")
	}
}
