package server

import (
	"strings"
	"testing"

	"nodal/node"
	"nodal/node/policy"
)

// The caller that imports an image under a name decides what the pods with that name run.
func TestAnOperatorImportsUnderNoNameOfAnAdminsPod(t *testing.T) {
	pinned := &scriptedImages{listed: []node.LocalImage{{ID: "sha256:p", References: []string{"docker.io/library/app:1"}, Pinned: true}}}
	for _, c := range []struct {
		name, image string
		images      *scriptedImages
		operator    int
	}{
		{"in use by a privileged pod", "app:1", &scriptedImages{}, 403},
		{"in use by nobody", "app:2", &scriptedImages{}, 200},
		{"pinned by the runtime", "app:2", pinned, 403},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newNode(t, withImages(c.images), func(cfg *Config) {
				cfg.Front.Auth = newAuth(t, false)
				cfg.State.Intake.Policy = policy.Policy{Posters: map[policy.Poster]policy.Level{policy.Operator: policy.Baseline}}
			})
			manifest := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"containers":[
				{"name":"web","image":"` + c.image + `","securityContext":{"privileged":true}}]}}`
			if got := n.do(t, "POST", "/v1/manifests", manifest, "Authorization", tokenOf(t, "admin")); got.status != 200 {
				t.Fatalf("post the pod: %d %s", got.status, got.body)
			}
			for role, want := range map[string]int{"operator": c.operator, "admin": 200} {
				got := n.do(t, "POST", "/v1/images:import", "tarball", "Authorization", tokenOf(t, role))
				if got.status != want {
					t.Errorf("%s: got %d %s, want %d", role, got.status, got.body, want)
				}
				if want == 403 && !strings.Contains(got.body, "docker.io/library/app:1") {
					t.Errorf("%s: got %s, want the image named", role, got.body)
				}
			}
		})
	}
}
