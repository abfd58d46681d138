package server

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/server/method"
)

func TestRESTListsPodsAsGRPCDoes(t *testing.T) {
	n := newNode(t)
	for _, name := range []string{"new", "running", "ending", "restarted"} {
		n.apply(t, manifestOf(name))
	}
	n.run(t, "running", node.ContainerRunning)
	n.run(t, "ending", node.ContainerRunning)
	n.run(t, "restarted", node.ContainerExited, node.ContainerRunning)
	n.do(t, "DELETE", "/v1/namespaces/default/pods/ending", "")
	client := nodev1.NewPodsServiceClient(n.dial(t))
	for _, c := range []struct {
		name, path string
		request    *nodev1.ListPodsRequest
		pods       int
	}{
		{"all", "/v1/pods", &nodev1.ListPodsRequest{}, 4},
		{"all, again", "/v1/pods", &nodev1.ListPodsRequest{}, 4},
		{"of a namespace", "/v1/namespaces/default/pods", &nodev1.ListPodsRequest{Namespace: "default"}, 4},
		{"of a namespace that is empty", "/v1/namespaces/other/pods", &nodev1.ListPodsRequest{Namespace: "other"}, 0},
		{"by label", "/v1/pods?labelSelector=app%3Drunning", &nodev1.ListPodsRequest{LabelSelector: "app=running"}, 1},
		{"by phase", "/v1/pods?fieldSelector=status.phase%3DPending", &nodev1.ListPodsRequest{FieldSelector: "status.phase=Pending"}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			list, err := client.ListPods(t.Context(), c.request)
			if err != nil || len(list.GetPods()) != c.pods {
				t.Fatalf("by gRPC: got %d pods, %v, want %d", len(list.GetPods()), err, c.pods)
			}
			text, err := protojson.MarshalOptions{EmitDefaultValues: c.pods == 0}.Marshal(list)
			if err != nil {
				t.Fatal(err)
			}
			got, want := parsed(t, n.do(t, "GET", c.path, "").body), parsed(t, string(text))
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

func TestAnswersHaveNoSpacesInAnyBuild(t *testing.T) {
	n := newNode(t)
	n.apply(t, manifestOf("web"))
	for _, path := range []string{"/v1/node", "/v1/pods", "/v1/namespaces/default/pods/web", "/v1/events", "/v1/namespaces/default/pods/gone"} {
		body := n.do(t, "GET", path, "").body
		var want bytes.Buffer
		if err := json.Compact(&want, []byte(body)); err != nil {
			t.Fatalf("GET %s: %v: %s", path, err, body)
		}
		if got := strings.TrimSuffix(body, "\n"); got != want.String() {
			t.Errorf("GET %s: got %s, want %s", path, got, want.String())
		}
	}
}

func parsed(t *testing.T, text string) (value any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return value
}

func TestTheTextOfAListNeedsTheRightOfTheList(t *testing.T) {
	terms := method.Terms(methods(t))
	text, list := terms[nodev1.PodsService_ListPodsText_FullMethodName], terms[nodev1.PodsService_ListPods_FullMethodName]
	if text != list || text.Verb == "" {
		t.Errorf("got the terms %v, want %v", text, list)
	}
}
