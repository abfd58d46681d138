package cluster

import (
	"testing"

	"nodal/test/claim"
)

func TestKubectlTellsTheRightsOnANodeAlone(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "Kubernetes API", "kubectl auth can-i and whoami tell the rights of a role on a node without a cluster, and --as is refused")
	admin := startAlone(t)
	viewer := admin.as("viewer")
	admin.does("", "auth can-i create pods", "yes")
	admin.does("", "auth can-i * *", "yes")
	admin.does("", "auth can-i create pods --subresource=exec", "yes")
	admin.does("", "auth can-i get /debug/pprof/heap", "yes")
	admin.does("", "auth whoami", "Username", "admin")
	viewer.does("", "auth can-i list pods -A", "yes")
	viewer.does("", "auth can-i get pods --subresource=log", "yes")
	viewer.fails("", "auth can-i delete pods", "no")
	viewer.fails("", "delete pod none", "Forbidden")
	viewer.fails("", "auth can-i create pods --subresource=exec", `needs the role operator`)
	viewer.fails("", "auth can-i get /debug/pprof/heap", "no")
	viewer.fails("", "auth can-i get ingresses", "no")
	viewer.does("", "auth whoami -o jsonpath={.status.userInfo.extra}", `"nodal.node/role":["viewer"]`)
	viewer.does("", "auth can-i --list", "pods/log", "[get list watch]", "/healthz")
	admin.fails("", "get pods --as bob", "a node does not act for others")
}
