package server

import (
	"encoding/json"
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
