package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nodal/test/claim"
	"nodal/test/daemon"
)

const limitedServer = `  containers:
  - name: main
    image: nodal.test/busybox:1
    command: [sh, -c, "exec sleep 1000"]
    resources: {requests: {cpu: 50m, memory: 32Mi}, limits: {cpu: 200m, memory: 64Mi}}
`

const pausing = `  containers:
  - {name: main, image: "nodal.test/pause:1"}
`

func TestKubectlChangesRunningPodsOfANodeAlone(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "Kubernetes API",
		"kubectl resizes a running pod of a node by its subresource, set resources and set image, and the pod goes on",
		"kubectl debug adds a container to a running pod of a node, and makes a copy of it",
		"an eviction ends a pod of a node within its grace period",
		"kubectl drains a node of all pods but those of files; until kubectl uncordon the node takes no new ones, over restarts too",
	)
	files := t.TempDir()
	must(t, os.WriteFile(filepath.Join(files, "static.yaml"), []byte(manifest("static", pausing)), 0o600))
	a := startAlone(t, "--pod-manifest-path", files)
	a.does(manifest("web", limitedServer), "apply -f -", "pod/web created")
	a.does(manifest("small", pausing), "apply -f -", "pod/small created")
	a.does("", "wait --for=condition=Ready pod/web pod/small --timeout=120s", "condition met")
	const uid = "get pod web -o jsonpath={.metadata.uid}"
	before := a.does("", uid)
	a.does("", "get pod web --subresource=status -o jsonpath={.status.phase}", "Running")

	const limit, held = "get pod web -o jsonpath={.spec.containers[0].resources.limits.cpu}", "{.status.containerStatuses[0].resources.limits.cpu}"
	a.does("", `patch pod web --subresource=resize -p {"spec":{"containers":[{"name":"main","resources":{"limits":{"cpu":"300m"}}}]}}`, "patched")
	a.does("", limit, "300m")
	a.does("", "wait --for=jsonpath="+held+"=300m pod/web --timeout=60s", "condition met")
	a.does("", "set resources pod web -c main --limits=cpu=400m,memory=64Mi --requests=cpu=50m,memory=32Mi", "resource requirements updated")
	a.does("", "wait --for=jsonpath="+held+"=400m pod/web --timeout=60s", "condition met")
	a.fails("", `patch pod web --subresource=resize -p {"spec":{"containers":[{"name":"main","resources":{"limits":null,"requests":null}}]}}`, "Forbidden")
	a.does("", "label pod web tier=front", "labeled")
	a.does("", "annotate pod web note=1", "annotated")

	if after := a.does("", uid); after != before {
		t.Errorf("the pod %s is now %s", before, after)
	}
	a.does("", "set image pod/small main=nodal.test/busybox:1", "image updated")
	a.does("", "get pod small -o jsonpath={.spec.containers[0].image}", "nodal.test/busybox:1")
	a.does("", "set env pod/small COLOR=red", "env updated")
	a.does("", "wait --for=jsonpath={.spec.containers[0].env[0].name}=COLOR pod/small --timeout=60s", "condition met")
	a.debugs()

	const eviction = `{"kind":"Eviction","apiVersion":"policy/v1","metadata":{"name":"web","namespace":"default"},"deleteOptions":{"gracePeriodSeconds":1}}`
	a.does(eviction, "create --raw /api/v1/namespaces/default/pods/web/eviction?dryRun=All -f -", "Success")
	a.does("", "get pod web", "Running")
	a.does(eviction, "create --raw /api/v1/namespaces/default/pods/web/eviction -f -", "Success")
	a.does("", "wait --for=delete pod/web --timeout=60s")
	a.fails(strings.Replace(eviction, "web", "none", 1), "create --raw /api/v1/namespaces/default/pods/web/eviction -f -", "name in URL does not match")
	a.drains()
}

// debugs checks that kubectl debug adds a container, and copies a pod.
func (a *alone) debugs() {
	a.t.Helper()
	a.does("", "debug web --image=nodal.test/busybox:1 -c looker -- top -b", "")
	a.does("", "wait --for=jsonpath={.status.ephemeralContainerStatuses[?(@.name==\"looker\")].state.running} pod/web --timeout=60s", "condition met")
	a.does("", "exec web -c looker -- echo from-beside", "from-beside")
	a.does("", "debug web --copy-to=web-copy --set-image=main=nodal.test/busybox:1", "")
	a.does("", "wait --for=condition=Ready pod/web-copy --timeout=60s", "condition met")
	a.does("", "logs web -c looker", "Mem:") // it has had the time to print it
}

// drains checks that kubectl drains the node, and what holds while it is cordoned.
func (a *alone) drains() {
	a.t.Helper()
	a.does("", "wait --for=condition=Ready pod/static-node-a --timeout=60s", "condition met")
	a.does("", "get --raw /api/v1/nodes/node-a/proxy/stats/summary", `"podRef"`, "static-node-a")
	a.does("", "drain node-a --force --grace-period=1 --timeout=120s", "node/node-a cordoned", "evicting pod default/small", "node/node-a drained")
	a.node.Kill()
	a.node.Launch()
	a.node.Await("the agent again", func(daemon.Pods) bool { return true }) // kubectl does not wait for it
	a.does("", "wait --for=condition=Ready node/node-a --timeout=60s", "condition met")
	a.does("", "get nodes", "Ready,SchedulingDisabled")
	if names := a.does("", "get pods -o name"); strings.TrimSpace(names) != "pod/static-node-a" {
		a.t.Errorf("after the drain there are %s", names)
	}
	a.fails(manifest("late", pausing), "apply -f -", "the node is cordoned")
	a.does("", "uncordon node-a", "uncordoned")
	a.does(manifest("late", pausing), "apply -f -", "pod/late created")
	a.does("", "delete pod late --grace-period=1", "deleted")
}
