package cluster

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"nodal/test/agent"
	"nodal/test/claim"
	"nodal/test/daemon"
	controlplane "nodal/test/plane"
	"nodal/test/process"
)

const toolDriver = "tool.nodal.test"

// tools is the driver of devices, a process of its own.
type tools struct {
	*world
	process.Process
	state, specs string
}

// newTools starts a cluster of one node that has the driver. The test plays the scheduler and the controllers of claims.
func newTools(t *testing.T) *tools {
	t.Helper()
	p := startPlane(t)
	dir, err := os.MkdirTemp("", "tools") // the path of a socket is short
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	d := &tools{state: dir, specs: filepath.Join(dir, "cdi")}
	must(t, os.MkdirAll(d.specs, 0o755))
	binary, err := agent.DRADriver(dir)
	must(t, err)
	d.world = &world{plane: p, node: daemon.StartAlone(t, "--cdi-spec-dirs="+d.specs, "--kubeconfig", p.kubeconfig(controlplane.Node))}
	d.node.Import("busybox")
	d.Process = process.Process{Path: binary, Log: filepath.Join(dir, "log"), Args: []string{
		"--registry", filepath.Join(d.node.Dir, "plugins_registry"), "--state", dir, "--socket", filepath.Join(dir, "dra.sock"), "--cdi", d.specs,
	}}
	t.Cleanup(d.Kill)
	return d
}

func (d *tools) begin() {
	d.t.Helper()
	must(d.t, d.Start())
	d.eventually("the driver to be registered", func() bool { return len(d.heard("Registered true")) > 0 })
}

// tell writes a file of the driver's directory of state.
func (d *tools) tell(file string, lines ...string) {
	d.t.Helper()
	must(d.t, os.WriteFile(filepath.Join(d.state, file), []byte(strings.Join(lines, "\n")), 0o644))
}

// heard returns the lines of what the driver was asked that have some words.
func (d *tools) heard(words ...string) (lines []string) {
	d.t.Helper()
	text, err := os.ReadFile(filepath.Join(d.state, "calls"))
	if err != nil && !os.IsNotExist(err) {
		d.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) }) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

const claimsPath = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"

// make makes a claim, with an owner if one is given.
func (d *tools) make(name, owner string) {
	d.t.Helper()
	d.create(claimsPath, fmt.Sprintf("apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: %s%s}\nspec:\n  devices:\n    requests:\n"+
		"    - {name: one, exactly: {deviceClassName: tool}}\n    - {name: two, exactly: {deviceClassName: tool}}\n", name, owner))
}

// allocate gives a claim its devices, for some pods.
func (d *tools) allocate(name string, pods ...string) {
	d.t.Helper()
	var results, users []string
	for _, request := range []string{"one", "two"} {
		results = append(results, fmt.Sprintf(`{"request": %q, "driver": %q, "pool": "pool", "device": "%s-%s"}`, request, toolDriver, name, request))
	}
	for _, pod := range pods {
		users = append(users, fmt.Sprintf(`{"resource": "pods", "name": %q, "uid": %q}`, pod, d.pod(pod).UID))
	}
	d.ask("PATCH", claimsPath+"/"+name+"/status", "application/merge-patch+json", fmt.Sprintf(
		`{"status": {"allocation": {"devices": {"results": [%s]}}, "reservedFor": [%s]}}`, strings.Join(results, ","), strings.Join(users, ",")))
}

// using is a pod that uses a claim: one container one request of it, one all of it, and one nothing.
func using(name, claim string) string {
	container := func(name, resources, test string) string {
		return fmt.Sprintf("  - {name: %s, image: \"nodal.test/busybox:1\", command: [sh, -c, \"exec sleep 1000\"], %s"+
			"readinessProbe: {exec: {command: [sh, -c, '%s']}, periodSeconds: 1, timeoutSeconds: 5}}\n", name, resources, test)
	}
	return manifest(name, "  resourceClaims: [{name: tool, resourceClaimName: "+claim+"}]\n  containers:\n"+
		container("main", "resources: {claims: [{name: tool, request: one}]}, ", `test "$CLAIM_ONE$CLAIM_TWO" = `+claim+` -a -c /dev/tool-one -a ! -e /dev/tool-two`)+
		container("all", "resources: {claims: [{name: tool}]}, ", `test "$CLAIM_ONE$CLAIM_TWO" = `+claim+claim+` -a -c /dev/tool-one -a -c /dev/tool-two`)+
		container("none", "", `test -z "$CLAIM_ONE$CLAIM_TWO" -a ! -e /dev/tool-one`))
}

// waitTold waits until an event of a pod has some words.
func (d *tools) waitTold(pod, reason, words string) {
	d.t.Helper()
	d.eventually("an event about "+pod, func() bool {
		return slices.ContainsFunc(d.told(d.pod(pod), reason), func(m string) bool { return strings.Contains(m, words) })
	})
}

func TestPodsOfAClusterHaveTheDevicesOfTheirClaims(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "In a cluster",
		"a pod with a ResourceClaim waits, with an event, until the claim has devices and is reserved for it, and until its driver is there",
		"the CDI devices of a ResourceClaim reach the containers that name it, or one request of it, and no others",
		"a DRA driver registers, and the node API and the metrics show it and the claims in use",
		"pods share a ResourceClaim, which its driver prepares once and unprepares after the last of them",
		"killed between a driver's calls, the next agent goes on: no container restarts, and a claim that is gone from the cluster is unprepared",
		"a pod ends in its phase only when its driver has unprepared its claims; until then an event says what the driver says",
		"a ResourceClaim made from a template belongs to its pod, whose status keeps the name",
		"a driver that hangs over one ResourceClaim holds up no pod with another",
		"the ResourceSlices of a driver that has gone, or that did not come back when the agent started, are removed after half a minute; others stay",
	)
	d := newTools(t)
	d.publish("node-a", toolDriver)
	d.publish("node-a", "lost.nodal.test")
	d.publish("node-b", toolDriver)
	d.make("shared", "")
	d.create(podsPath, using("first", "shared"))
	d.waitTold("first", "FailedPrepareDynamicResources", "is not allowed to use ResourceClaim shared")
	d.create(podsPath, using("second", "shared"))
	d.allocate("shared", "first", "second")
	d.waitTold("first", "FailedPrepareDynamicResources", "DRA driver "+toolDriver+" is not registered")
	d.begin()
	first := d.await("first", "ready", ready)
	d.await("second", "ready", ready)
	uid := string(d.claim("shared").UID)
	if got, want := d.heard("Resources"), []string{"NodePrepareResources default/shared/" + uid}; !slices.Equal(got, want) {
		t.Errorf("the driver has heard %q, want %q", got, want)
	}
	d.shows("/v1/node/plugins", `"name":"`+toolDriver+`"`, `"type":"DRAPlugin"`, `"registered":true`)
	d.shows("/metrics", `dra_resource_claims_in_use{driver_name="<any>"} 1`, `dra_resource_claims_in_use{driver_name="`+toolDriver+`"} 1`,
		`dra_operations_duration_seconds_count{is_error="true",operation_name="PrepareResources"}`,
		`method_name="/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources"} 1`)

	d.node.Kill()
	d.node.Launch()
	d.ask("DELETE", podsPath+"/second", "", "")
	d.awaitGone("second")
	after := d.await("first", "still ready", ready)
	if got, want := after.Status.ContainerStatuses[0], first.Status.ContainerStatuses[0]; got.RestartCount != 0 || got.ContainerID != want.ContainerID {
		t.Errorf("the pod's container became %+v", got)
	}
	if got := d.heard("NodeUnprepareResources"); len(got) > 0 {
		t.Errorf("a claim that a pod has is unprepared: %q", got)
	}
	d.tell("late", "NodeUnprepareResources")
	d.ask("DELETE", claimsPath+"/shared", "", "")
	d.ask("DELETE", podsPath+"/first", "", "")
	d.waitTold("first", "FailedUnprepareDynamicResources", "NodeUnprepareResources fails late, as it shall")
	d.node.Kill()
	d.tell("late")
	d.node.Launch()
	d.awaitGone("first")
	if got := d.heard("NodeUnprepareResources default/shared/" + uid); len(got) < 2 {
		t.Errorf("the driver has heard %q, want the same again from the next agent", got)
	}

	d.ends()
	d.hangs()
	d.goes()
	if left, err := os.ReadDir(d.specs); len(left) > 0 || err != nil {
		t.Errorf("specs of claims are left: %v, %v", left, err)
	}
}

func (d *tools) claim(name string) resourcev1.ResourceClaim {
	d.t.Helper()
	c, _ := get[resourcev1.ResourceClaim](d.plane, claimsPath+"/"+name)
	return c
}

// shows checks that a page of the node has some words.
func (d *tools) shows(path string, words ...string) {
	d.t.Helper()
	reply, err := d.node.HTTP().Get("http://node" + path)
	must(d.t, err)
	defer reply.Body.Close()
	page, err := io.ReadAll(reply.Body)
	must(d.t, err)
	for _, w := range words {
		if !strings.Contains(strings.ReplaceAll(string(page), `": "`, `":"`), w) {
			d.t.Errorf("%s lacks %s", path, w)
		}
	}
}

// publish makes the ResourceSlice of a driver on a node.
func (d *tools) publish(node, driver string) {
	d.t.Helper()
	d.create("/apis/resource.k8s.io/v1/resourceslices", fmt.Sprintf("apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\n"+
		"metadata: {name: %[1]s-%[2]s}\nspec: {nodeName: %[1]s, driver: %[2]s, pool: {name: %[1]s, generation: 1, resourceSliceCount: 1}, devices: [{name: one}]}\n", node, driver))
}

// goes shows what becomes of the ResourceSlices of drivers that are not there.
func (d *tools) goes() {
	d.t.Helper()
	there := func(name string) bool {
		_, ok := get[resourcev1.ResourceSlice](d.plane, "/apis/resource.k8s.io/v1/resourceslices/"+name)
		return ok
	}
	d.eventually("no slice of a driver that never came", func() bool { return !there("node-a-lost.nodal.test") })
	if !there("node-a-" + toolDriver) {
		d.t.Error("the slice of a driver that runs is removed")
	}
	d.Kill()
	d.eventually("no slice of a driver that has gone", func() bool { return !there("node-a-" + toolDriver) })
	if !there("node-b-" + toolDriver) {
		d.t.Error("the slice of another node is removed")
	}
}

// ends shows how a pod ends that has a claim of its own.
func (d *tools) ends() {
	d.t.Helper()
	d.tell("fail", "NodeUnprepareResources:job-tool-x")
	d.create(podsPath, manifest("job", "  restartPolicy: Never\n  resourceClaims: [{name: tool, resourceClaimTemplateName: tools}]\n  containers:\n"+
		"  - {name: main, image: \"nodal.test/busybox:1\", command: [sh, -c, 'test -c /dev/tool-two'], resources: {claims: [{name: tool}]}}\n"))
	d.waitTold("job", "FailedPrepareDynamicResources", "ResourceClaim not created yet")
	d.make("job-tool-x", fmt.Sprintf(", ownerReferences: [{apiVersion: v1, kind: Pod, name: job, uid: %s, controller: true}]", d.pod("job").UID))
	d.allocate("job-tool-x", "job")
	d.ask("PATCH", podsPath+"/job/status", "application/merge-patch+json",
		`{"status": {"resourceClaimStatuses": [{"name": "tool", "resourceClaimName": "job-tool-x"}]}}`)
	d.waitTold("job", "FailedUnprepareDynamicResources", "NodeUnprepareResources fails as it shall")
	over := func(p *corev1.Pod) bool {
		return len(p.Status.ContainerStatuses) == 1 && p.Status.ContainerStatuses[0].State.Terminated != nil
	}
	if p := d.await("job", "over", over); p.Status.Phase != corev1.PodRunning {
		d.t.Errorf("a pod whose claim is not unprepared is %s, want Running", p.Status.Phase)
	}
	d.tell("fail")
	p := d.await("job", "done", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodSucceeded })
	if s := p.Status.ResourceClaimStatuses; len(s) != 1 || s[0].ResourceClaimName == nil || *s[0].ResourceClaimName != "job-tool-x" {
		d.t.Errorf("the status of the pod names the claims %v", s)
	}
	d.ask("DELETE", podsPath+"/job", "", "")
	d.awaitGone("job")
}

// hangs shows that a driver which hangs over one claim holds up no other.
func (d *tools) hangs() {
	d.t.Helper()
	d.tell("hang", "NodePrepareResources:stuck")
	for _, name := range []string{"stuck", "fine"} {
		d.make(name, "")
		d.create(podsPath, using("with-"+name, name))
		d.allocate(name, "with-"+name)
	}
	d.eventually("the driver to hang", func() bool { return len(d.heard("NodePrepareResources default/stuck/")) > 0 })
	d.await("with-fine", "ready", ready)
	if ready(d.pod("with-stuck")) {
		d.t.Error("a pod runs whose claim is not prepared")
	}
	for _, name := range []string{"with-stuck", "with-fine"} {
		d.ask("DELETE", podsPath+"/"+name, "", "")
		d.awaitGone(name)
	}
}
