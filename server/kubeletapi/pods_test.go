package kubeletapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

func TestPodsAreOneList(t *testing.T) {
	for _, c := range []struct {
		name    string
		objects [][]byte
		want    string
	}{
		{"none", nil, `{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[]}`},
		{"two", [][]byte{[]byte(`{"a":1}`), []byte(`{"b":2}`)}, `{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[{"a":1},{"b":2}]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := serve(Config{Pods: Pods{Objects: func(context.Context) ([][]byte, error) { return c.objects, nil }}})
			if code, body := ask(t, h, "GET", "/pods", ""); code != http.StatusOK || body != c.want {
				t.Errorf("got %d %s, want %s", code, body, c.want)
			}
		})
	}
}

func TestRunningPodsAreThoseOfTheRuntime(t *testing.T) {
	ready, running, exited := node.SandboxReady, node.ContainerRunning, node.ContainerExited
	found := map[node.Key]*node.Observed{
		{Namespace: "default", Name: "ended"}: {Containers: []node.Container{{UID: "uid-1", Name: "main", State: exited}}},
		{Namespace: "default", Name: "web"}: {
			Sandboxes: []node.Sandbox{{UID: "uid-2", State: ready}, {UID: "uid-3", State: ready}},
			Containers: []node.Container{
				{UID: "uid-2", Name: "main", Image: "main:1", State: running}, {UID: "uid-2", Name: "main", State: exited},
			},
		},
	}
	var fails error
	h := serve(Config{Pods: Pods{Running: func(context.Context) (map[node.Key]*node.Observed, error) { return found, fails }}})
	_, body := ask(t, h, "GET", "/runningpods/", "")
	var list corev1.PodList
	if err := json.Unmarshal([]byte(body), &list); err != nil || list.Kind != "PodList" || len(list.Items) != 2 {
		t.Fatalf("got %s, %v, want a list of the two pods that share a name", body, err)
	}
	if first := list.Items[0]; first.UID != "uid-2" || len(first.Spec.Containers) != 1 || first.Spec.Containers[0].Image != "main:1" {
		t.Errorf("got %+v, want uid-2 with the one container that runs", first)
	}
	fails = errors.New("the runtime hangs")
	if code, body := ask(t, h, "GET", "/runningpods/", ""); code != http.StatusInternalServerError || body != fails.Error() {
		t.Errorf("got %d %s, want 500 with the runtime's error", code, body)
	}
}
