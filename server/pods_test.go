package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
)

func TestAManifestPostedOverRESTIsAPodOverGRPC(t *testing.T) {
	n := newNode(t)
	posted := n.do(t, "POST", "/v1/manifests", manifestOf("web"))
	if posted.status != http.StatusOK || !strings.Contains(posted.body, "RESULT_CREATED") {
		t.Fatalf("post: got %d %s", posted.status, posted.body)
	}
	n.run(t, "web", node.ContainerRunning)

	pods := nodev1.NewPodsServiceClient(n.dial(t))
	got, err := pods.GetPod(t.Context(), &nodev1.GetPodRequest{Namespace: "default", Name: "web"})
	if err != nil {
		t.Fatal(err)
	}
	pod := got.GetPod()
	if pod.GetPhase() != nodev1.PodPhase_POD_PHASE_RUNNING || !pod.GetReady() || pod.GetPodIps()[0] != "10.0.0.7" {
		t.Errorf("got %v, want a pod that runs and is ready", pod)
	}
	spec := pod.GetObject().GetFields()["spec"].GetStructValue().GetFields()
	if got := spec["nodeName"].GetStringValue(); got != "node1" {
		t.Errorf("object's node: got %q, want node1", got)
	}

	rest := n.do(t, "GET", "/v1/namespaces/default/pods/web", "")
	var decoded struct {
		Pod struct {
			UID    string
			Object struct{ Kind string }
		}
	}
	if err := json.Unmarshal([]byte(rest.body), &decoded); err != nil {
		t.Fatalf("decode %s: %v", rest.body, err)
	}
	if decoded.Pod.UID != pod.GetUid() || decoded.Pod.Object.Kind != "Pod" {
		t.Errorf("REST: got %s, want the pod that gRPC shows", rest.body)
	}
	if _, err := pods.GetPod(t.Context(), &nodev1.GetPodRequest{Namespace: "default", Name: "other"}); status.Code(err) != codes.NotFound {
		t.Errorf("unknown pod: got %v, want NotFound", err)
	}
}

func TestUnchangedSinceGuardsPutAndDelete(t *testing.T) {
	n := newNode(t)
	const path = "/v1/namespaces/default/pods/web?unchangedSince="
	theirs := strings.Replace(manifestOf("web"), "app: web", "app: theirs", 1)
	if got := n.do(t, "PUT", path+"0", manifestOf("web")); got.status != http.StatusOK {
		t.Fatalf("it is not there: got %d %s", got.status, got.body)
	}
	looked := fmt.Sprint(n.store.Revision())
	if got := n.do(t, "PUT", path+looked, theirs); got.status != http.StatusOK {
		t.Fatalf("it is as it was: got %d %s", got.status, got.body)
	}
	for _, c := range []struct{ method, since, body string }{
		{"PUT", "0", manifestOf("web")}, {"PUT", looked, manifestOf("web")}, {"DELETE", looked, ""},
	} {
		if got := n.do(t, c.method, path+c.since, c.body); got.status != http.StatusConflict || !strings.Contains(got.body, `"CHANGED"`) {
			t.Errorf("%s after a change since %s: got %d %s, want 409", c.method, c.since, got.status, got.body)
		}
	}
	view, _ := n.store.View(node.Key{Namespace: "default", Name: "web"})
	if pod := view.Slot.Pod; pod.Object.Labels["app"] != "theirs" || pod.Deletion != nil {
		t.Errorf("got labels %v, deletion %v, want what they have put", pod.Object.Labels, pod.Deletion)
	}
	if got := n.do(t, "DELETE", path+fmt.Sprint(n.store.Revision()), ""); got.status != http.StatusOK {
		t.Errorf("delete: got %d %s", got.status, got.body)
	}
}
