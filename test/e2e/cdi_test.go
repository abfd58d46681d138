package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	runtimev1 "k8s.io/cri-api/pkg/apis/runtime/v1"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/test/agent"
	"nodal/test/claim"
	"nodal/test/daemon"
	"nodal/test/pace"
	"nodal/test/process"
)

// fakeGPU is a spec as nvidia-ctk writes it for two GPUs, over /dev/null.
const fakeGPU = `cdiVersion: 0.5.0
kind: nvidia.com/gpu
devices:
- {name: "0", containerEdits: {deviceNodes: [{path: /dev/nvidia0, hostPath: /dev/null}], env: [HAS_0=yes]}}
- {name: "1", containerEdits: {deviceNodes: [{path: /dev/nvidia1, hostPath: /dev/null}], env: [HAS_1=yes]}}
- {name: GPU-8b1a, containerEdits: {deviceNodes: [{path: /dev/nvidia0, hostPath: /dev/null}]}}
- {name: all, containerEdits: {deviceNodes: [{path: /dev/nvidia0, hostPath: /dev/null}, {path: /dev/nvidia1, hostPath: /dev/null}]}}
containerEdits: {env: [NVIDIA_VISIBLE_DEVICES=void]}
`

// amdGPU is a spec as amd-ctk writes it for one GPU, over /dev/null.
const amdGPU = `{"cdiVersion": "0.6.0", "kind": "amd.com/gpu", "devices": [
	{"name": "0", "containerEdits": {"deviceNodes": [{"path": "/dev/kfd", "hostPath": "/dev/null"}, {"path": "/dev/dri/card0", "hostPath": "/dev/null"}]}},
	{"name": "all", "containerEdits": {"deviceNodes": [{"path": "/dev/kfd", "hostPath": "/dev/null"}, {"path": "/dev/dri/card0", "hostPath": "/dev/null"}]}}
]}`

// intelGPU returns the spec of docs/GPU.md.
func intelGPU(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/GPU.md")
	if err != nil {
		t.Fatal(err)
	}
	_, spec, _ := strings.Cut(string(page), "```yaml\ncdiVersion")
	spec, _, ok := strings.Cut(spec, "```")
	if !ok {
		t.Fatal("docs/GPU.md has no spec")
	}
	return strings.Replace("cdiVersion"+spec, "path: /dev/dri/renderD128", "path: /dev/dri/renderD128\n      hostPath: /dev/null", 1)
}

// alone is a node with the runtime that the kubelet brings along.
type alone struct {
	*daemon.Daemon
	t *testing.T
}

func (a alone) apply(manifest string) {
	a.t.Helper()
	if _, err := nodev1.NewManifestsServiceClient(a.Conn()).Apply(a.t.Context(), &nodev1.ApplyRequest{Manifest: manifest}); err != nil {
		a.t.Fatal(err)
	}
}

// get reads an answer of the node API.
func (a alone) get(path string, into any) error {
	reply, err := a.HTTP().Get("http://node" + path)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	return json.NewDecoder(reply.Body).Decode(into)
}

// shownDevices is a resource of devices as the API shows it.
type shownDevices struct {
	Name, CdiKind, Message              string
	Shares, Capacity, Healthy, Assigned int
}

// eventually waits until something holds.
func (a alone) eventually(what string, holds func() bool) {
	a.t.Helper()
	for began := time.Now(); !holds(); time.Sleep(100 * time.Millisecond) {
		if time.Since(began) > pace.Of(patience) {
			a.t.Fatalf("waited %s in vain for %s", pace.Of(patience), what)
		}
	}
}

// until waits until the API shows a resource of devices as it should be.
func (a alone) until(resource, what string, is func(shownDevices) bool) {
	a.t.Helper()
	a.eventually(what, func() bool {
		var answer struct{ Devices []shownDevices }
		if a.get("/v1/node/plugins", &answer) != nil {
			return false // it starts
		}
		at := slices.IndexFunc(answer.Devices, func(d shownDevices) bool { return d.Name == resource })
		return at >= 0 && is(answer.Devices[at])
	})
}

// having is a pod that has devices of a resource, and is ready if a test in its shell holds.
func having(name, resource string, count int, test string) string {
	return adding(shell(name, "exec sleep 1000"), fmt.Sprintf("resources: {limits: {%s: %d}}", resource, count),
		fmt.Sprintf("readinessProbe: {exec: {command: [sh, -c, '%s']}, periodSeconds: 1, timeoutSeconds: 5}", test))
}

func TestPodsHaveAGPUWithoutItsPlugin(t *testing.T) {
	claim.Shows(t, "Devices",
		"CDI devices of the machine that the configuration offers count for capacity and allocatable, in shares, each device once",
		"a container gets the device files and variables of its CDI devices from the runtime, and containers share a device as the configuration says",
		"containers get devices of their own as long as there are some, and a pod for which no share is left is refused",
		"a spec that goes away makes its devices unhealthy, in the status of the pods that have them too, and running pods stay; when it is back, pods get them again",
		"the next agent knows who has which share",
	)
	t.Parallel()
	dir := t.TempDir()
	spec := filepath.Join(dir, "nvidia.yaml")
	write := func() {
		if err := os.WriteFile(spec, []byte(fakeGPU), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write()
	for name, text := range map[string]string{"amd.json": amdGPU, "intel.yaml": intelGPU(t)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const part = "example.com/part"
	a := alone{daemon.StartAlone(t, "--cdi-devices=nvidia.com/gpu:as="+part+":shares=2,amd.com/gpu,intel.com/gpu", "--cdi-spec-dirs="+dir), t}
	a.Import("busybox")
	var n struct{ Capacity, Allocatable map[string]string }
	if err := a.get("/v1/node", &n); err != nil || n.Capacity[part] != "4" || n.Allocatable[part] != "4" {
		t.Errorf("the node has %s shares, and pods can have %s, %v; want 4 of two devices", n.Capacity[part], n.Allocatable[part], err)
	}
	a.apply(having("one", part, 1, `test -c /dev/nvidia0 -a ! -e /dev/nvidia1 && echo x >/dev/nvidia0 && test "$HAS_0$HAS_1$NVIDIA_VISIBLE_DEVICES" = yesvoid`))
	a.Await("a pod has the first GPU", func(p daemon.Pods) bool { return p.Ready("one") })
	a.apply(having("two", part, 2, `test -c /dev/nvidia0 -a -c /dev/nvidia1`))
	a.Await("a pod has a share of each", func(p daemon.Pods) bool { return p.Ready("two", "one") })
	a.apply(having("last", part, 1, `test ! -e /dev/nvidia0 -a -c /dev/nvidia1`))
	a.Await("another shares the second", func(p daemon.Pods) bool { return p.Ready("last") })
	a.apply(having("amd", "amd.com/gpu", 1, "test -c /dev/kfd -a -c /dev/dri/card0"))
	a.apply(having("intel", "intel.com/gpu", 1, "test -c /dev/dri/renderD128"))
	a.Await("the GPUs of others are there too", func(p daemon.Pods) bool { return p.Ready("amd", "intel") })
	a.apply(having("many", part, 1, "true"))
	a.Await("a fifth share is refused", func(p daemon.Pods) bool {
		return p["many"].GetReason() == "UnexpectedAdmissionError" && strings.Contains(p["many"].GetMessage(), "Requested: 1, Available: 0")
	})
	a.Delete("many")
	a.until(part, "all shares to be assigned", func(d shownDevices) bool {
		return d == shownDevices{part, "nvidia.com/gpu", "", 2, 4, 4, 4}
	})

	a.Kill()
	a.Launch()
	a.until(part, "the next agent to know all shares", func(d shownDevices) bool { return d.Assigned == 4 && d.Healthy == 4 })
	a.Delete("last")
	if err := os.Remove(spec); err != nil {
		t.Fatal(err)
	}
	a.until(part, "the devices to be gone", func(d shownDevices) bool {
		return d.Healthy == 0 && d.Capacity == 4 && strings.Contains(d.Message, "has gone from the specs")
	})
	a.eventually("the pod's status to show it", func() bool {
		var pods corev1.PodList
		if a.get("/pods", &pods) != nil {
			return false
		}
		at := slices.IndexFunc(pods.Items, func(p corev1.Pod) bool { return p.Name == "one" })
		if at < 0 {
			return false
		}
		shown := containerStatus(&pods.Items[at], "main").AllocatedResourcesStatus
		return len(shown) == 1 && shown[0].Name == part && shown[0].Resources[0].ResourceID == "0" &&
			shown[0].Resources[0].Health == corev1.ResourceHealthStatusUnhealthy
	})
	a.apply(having("early", part, 1, "true"))
	a.Await("no pod gets such a device, and those that run stay", func(p daemon.Pods) bool {
		return strings.Contains(p["early"].GetMessage(), "no healthy devices present") && p.Ready("one", "two")
	})
	a.Delete("early")
	write()
	a.until(part, "the devices to be back, and one share to be free", func(d shownDevices) bool {
		return d.Healthy == 4 && d.Message == "" && d.Assigned == 3
	})
	a.apply(having("again", part, 1, "test -c /dev/nvidia1"))
	a.Await("a pod gets the share that was free", func(p daemon.Pods) bool { return p.Ready("again", "one", "two") })
}

func TestAPluginMayNameCDIDevices(t *testing.T) {
	claim.Shows(t, "Devices", "CDI devices that a plugin names in its answer to Allocate reach the container through the runtime")
	t.Parallel()
	dir, state := t.TempDir(), t.TempDir()
	spec := strings.ReplaceAll(fakeGPU, "nvidia.com/gpu", "nodal.test/gadget")
	if err := os.WriteFile(filepath.Join(dir, "gadget.yaml"), []byte(spec), 0o644); err != nil {
		t.Fatal(err)
	}
	a := alone{daemon.StartAlone(t, "--cdi-spec-dirs="+dir), t}
	a.Import("busybox")
	path, err := agent.DevicePlugin(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	plugin := process.Process{Path: path, Log: filepath.Join(state, "log"), Args: []string{
		"--dir", filepath.Join(a.Dir, "device-plugins"), "--state", state, "--devices", "0,1", "--cdi", "nodal.test/gadget",
	}}
	t.Cleanup(plugin.Kill)
	if err := plugin.Start(); err != nil {
		t.Fatal(err)
	}
	a.until(gadget, "the plugin to list its devices", func(d shownDevices) bool { return d.Healthy == 2 && d.CdiKind == "" })
	a.apply(having("web", gadget, 1, `test -c /dev/nvidia0 -a -c /dev/gadget-0 && test "$HAS_0" = yes`))
	a.Await("the pod has what plugin and spec give it", func(p daemon.Pods) bool { return p.Ready("web") })
}

func TestARuntimeWithoutCDIGetsNoDevicesOfSpecs(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "nvidia.yaml"), []byte(fakeGPU), 0o644); err != nil {
		t.Fatal(err)
	}
	n := start(t, func(c *agent.Config) {
		c.Flags = append(c.Flags, "--cdi-devices=nvidia.com/gpu", "--cdi-spec-dirs="+dir)
	})
	if status, err := n.rt.CRI().Version(t.Context(), &runtimev1.VersionRequest{}); err != nil || !strings.HasPrefix(status.GetRuntimeVersion(), "1.6.") {
		t.Skipf("this runtime knows CDI: %s, %v", status.GetRuntimeVersion(), err)
	}
	var answer struct{ Devices []shownDevices }
	n.eventually("the node to say what its runtime lacks", func() bool {
		n.curl("/v1/node/plugins").into(n, &answer)
		return len(answer.Devices) == 1 && answer.Devices[0].Capacity == 2 && answer.Devices[0].Healthy == 0 &&
			strings.Contains(answer.Devices[0].Message, "ignores CDI: set enable_cdi = true")
	})
	n.tryRefused(adding(shell("web", "true"), "resources: {limits: {nvidia.com/gpu: 1}}"), "no healthy devices present")
}
