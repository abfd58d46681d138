package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	runtimev1 "k8s.io/cri-api/pkg/apis/runtime/v1"
	podresourcesv1 "k8s.io/kubelet/pkg/apis/podresources/v1"

	"nodal/test/agent"
	"nodal/test/claim"
	"nodal/test/process"
)

const gadget = "nodal.test/gadget"

// gadgets is the plugin of devices, a process of its own.
type gadgets struct {
	process.Process
	n     *node
	state string
}

// plugIn starts the plugin, with more arguments.
func (n *node) plugIn(args ...string) *gadgets {
	n.t.Helper()
	path, err := agent.DevicePlugin(n.rt.Dir) // which goes with the test
	if err != nil {
		n.t.Fatal(err)
	}
	state := filepath.Join(n.rt.Dir, "gadgets")
	if err := os.MkdirAll(state, 0o755); err != nil {
		n.t.Fatal(err)
	}
	g := &gadgets{n: n, state: state, Process: process.Process{
		Path: path, Log: filepath.Join(state, "log"),
		Args: append([]string{"--dir", filepath.Join(n.Root(), "device-plugins"), "--state", state}, args...),
	}}
	n.t.Cleanup(g.Kill)
	g.begin()
	return g
}

func (g *gadgets) begin() {
	g.n.t.Helper()
	if err := g.Start(); err != nil {
		g.n.t.Fatal(err)
	}
}

// tell writes a file of the plugin's directory of state.
func (g *gadgets) tell(file string, lines ...string) {
	g.n.t.Helper()
	if err := os.WriteFile(filepath.Join(g.state, file), []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		g.n.t.Fatal(err)
	}
}

// heard returns how often the plugin was asked for something.
func (g *gadgets) heard(call string) int {
	g.n.t.Helper()
	text, err := os.ReadFile(filepath.Join(g.state, "calls"))
	if err != nil && !os.IsNotExist(err) {
		g.n.t.Fatal(err)
	}
	return strings.Count(string(text), call+"\n")
}

// waitOffer waits until the node has so many devices, and offers so many of them.
func (n *node) waitOffer(capacity, allocatable string) {
	n.t.Helper()
	var got struct {
		Capacity, Allocatable map[string]string
	}
	n.eventually(fmt.Sprintf("%s devices, %s of them for pods", capacity, allocatable), func() bool {
		got.Capacity, got.Allocatable = nil, nil
		n.curl("/v1/node").into(n, &got)
		return got.Capacity[gadget] == capacity && got.Allocatable[gadget] == allocatable
	})
}

// using is a pod that uses so many devices, and shows them.
func using(name string, count int) string {
	return adding(shell(name, `echo "has $GADGETS"; ls /dev/gadget-* /gadgets/calls; echo x > /dev/gadget-$(echo $GADGETS | cut -d+ -f1) && echo written; exec sleep 1000`),
		fmt.Sprintf("resources: {limits: {%s: %d}}", gadget, count))
}

// waitSays waits until the log of a pod has some words.
func (n *node) waitSays(name string, words ...string) {
	n.t.Helper()
	n.eventually(name+" to say "+strings.Join(words, ", "), func() bool {
		body := n.curl("/containerLogs/default/" + name + "/main").body
		for _, word := range words {
			if !strings.Contains(body, word) {
				return false
			}
		}
		return true
	})
}

// tryRefused applies a pod that the node refuses with some words.
func (n *node) tryRefused(manifest, words string) {
	n.t.Helper()
	name := strings.Fields(strings.SplitAfter(manifest, "name: ")[1])[0]
	n.apply(manifest)
	p := n.wait(name, name+" refused", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
	if s := p.Status; s.Reason != "UnexpectedAdmissionError" || !strings.Contains(s.Message, words) {
		n.t.Errorf("%s has failed with %q: %q, want %q", name, s.Reason, s.Message, words)
	}
	n.deletePod(name, "")
}

// annotationOf returns an annotation of a pod's container, as the runtime has it.
func (n *node) annotationOf(pod, name string) string {
	n.t.Helper()
	reply, err := n.rt.CRI().ContainerStatus(n.t.Context(), &runtimev1.ContainerStatusRequest{ContainerId: n.containers(pod)[0].id})
	if err != nil {
		n.t.Fatal(err)
	}
	return reply.GetStatus().GetAnnotations()[name]
}

const noGadget = "Pod was rejected: Allocate failed due to requested number of devices unavailable for nodal.test/gadget. " +
	"Requested: 1, Available: 0, which is unexpected"

func TestContainersGetTheDevicesOfAPlugin(t *testing.T) {
	claim.Shows(t, "Devices",
		"the devices that a plugin lists count for the node's capacity, and the healthy ones for what pods can have",
		"a container gets its devices with the device files, variables, mounts and annotations that the plugin answers",
		"a device belongs to one pod, and a pod that finds none is refused as UnexpectedAdmissionError in Kubernetes' words",
		"a pod that asks for a device that no plugin offers is refused",
		"a pod keeps a device that falls ill, and no other pod gets it; the device of a pod that goes is free again",
		"the status of a container names its devices and their health",
		"pod-resources/kubelet.sock names the devices of each container with their NUMA nodes, and those that pods can have",
		"GET /v1/node/shares names the devices of each container, and all that plugins offer with their health and NUMA nodes",
	)
	n := start(t)
	n.tryRefused(using("early", 1), "cannot allocate unregistered device "+gadget)
	g := n.plugIn("--devices", "g0,g1,g2", "--numa")
	n.waitOffer("3", "3")
	n.apply(using("two", 2))
	n.waitRunning("two")
	n.waitSays("two", "has g0+g1", "/dev/gadget-g0", "/dev/gadget-g1", "/gadgets/calls", "written")
	if got := n.annotationOf("two", "nodal.test/gadgets"); got != "g0+g1" {
		t.Errorf("its container is annotated with %q, want g0+g1", got)
	}
	n.apply(using("one", 1))
	n.waitSays("one", "has g2")
	n.tryRefused(using("many", 1), noGadget)

	before := n.healthy()
	n.waitHealth("one", "g2", corev1.ResourceHealthStatusHealthy)
	g.tell("sick", "g2")
	n.waitOffer("3", "2")
	n.waitHealth("one", "g2", corev1.ResourceHealthStatusUnhealthy)
	n.onSocket()
	n.onNodeAPI()
	n.deletePod("one", "")
	n.tryRefused(using("ill", 1), noGadget)
	g.tell("sick", "g0", "g2")
	n.waitOffer("3", "1") // two are offered already: that would not show that g2 is well
	g.tell("sick", "g0")
	n.waitOffer("3", "2")
	n.apply(using("well", 1))
	n.waitSays("well", "has g2")
	n.unmoved("two")
	if after := n.healthy(); !strings.Contains(before, "two") || !strings.Contains(after, "two") {
		t.Errorf("before %s ran, and now %s", before, after)
	}
}

// waitHealth waits until the status of a pod's container shows its only device with its health.
func (n *node) waitHealth(name, device string, health corev1.ResourceHealthStatus) {
	n.t.Helper()
	n.wait(name, fmt.Sprintf("%s to be shown with %s, which is %s", name, device, health), func(p *corev1.Pod) bool {
		shown := containerStatus(p, "main").AllocatedResourcesStatus
		return len(shown) == 1 && shown[0].Name == gadget && len(shown[0].Resources) == 1 &&
			shown[0].Resources[0] == corev1.ResourceHealth{ResourceID: corev1.ResourceID(device), Health: health}
	})
}

// onSocket checks that upstream's API shows the devices g0 and g1 of pod two, and g2 of pod one, which is ill.
func (n *node) onSocket() {
	n.t.Helper()
	client := podresourcesv1.NewPodResourcesListerClient(n.at("pod-resources", "kubelet.sock"))
	ids := func(devices []*podresourcesv1.ContainerDevices) (all []string) {
		for _, d := range devices {
			if nodes := d.GetTopology().GetNodes(); d.GetResourceName() != gadget || len(nodes) != 1 || nodes[0].GetID() != 0 {
				n.t.Errorf("a device is shown as %v", d)
			}
			all = append(all, d.GetDeviceIds()...)
		}
		return all
	}
	for pod, want := range map[string]string{"one": "g2", "two": "g0 g1"} {
		got, err := client.Get(n.t.Context(), &podresourcesv1.GetPodResourcesRequest{PodName: pod, PodNamespace: "default"})
		if err != nil {
			n.t.Fatal(err)
		}
		if shown := strings.Join(ids(got.GetPodResources().GetContainers()[0].GetDevices()), " "); shown != want {
			n.t.Errorf("%s has the devices %s, want %s", pod, shown, want)
		}
	}
	may, err := client.GetAllocatableResources(n.t.Context(), &podresourcesv1.AllocatableResourcesRequest{})
	if err != nil {
		n.t.Fatal(err)
	}
	if shown := strings.Join(ids(may.GetDevices()), " "); shown != "g0 g1" {
		n.t.Errorf("pods can have %s, want g0 g1", shown)
	}
}

// onNodeAPI checks the same in the node's own API.
func (n *node) onNodeAPI() {
	n.t.Helper()
	var answer struct {
		Shares []struct {
			Name, Container string
			Devices         []struct {
				Resource string
				IDs      []string
			}
		}
		Devices []struct {
			Resource, ID string
			Healthy      bool
			NUMANodes    []int
		}
	}
	n.curl("/v1/node/shares").into(n, &answer)
	const want = `{[{one main [{` + gadget + ` [g2]}]} {two main [{` + gadget + ` [g0 g1]}]}] ` +
		`[{` + gadget + ` g0 true [0]} {` + gadget + ` g1 true [0]} {` + gadget + ` g2 false [0]}]}`
	if got := fmt.Sprint(answer); got != want {
		n.t.Errorf("the API shows\n%s, want\n%s", got, want)
	}
}

func TestDevicesOutliveTheAgentAndTheirPlugin(t *testing.T) {
	claim.Shows(t, "Devices",
		"a pod keeps its devices over the end of the agent, of the plugin and of both, and no other pod gets them meanwhile",
		"a container starts again with its devices while their plugin is away",
		"without its plugin the node offers no device, and still counts them for its capacity",
		"a container whose plugin does not answer waits with the reason, and starts when the plugin answers",
		"a plugin that wants to be asked before each start of a container is asked",
	)
	n := start(t)
	g := n.plugIn("--prestart")
	n.waitOffer("2", "2")
	n.apply(using("holds", 1))
	n.waitRunning("holds")
	n.waitSays("holds", "has g0")
	if allocated, started := g.heard("allocate g0"), g.heard("prestart g0"); allocated != 1 || started != 1 {
		t.Errorf("the plugin was asked to allocate %d times and before a start %d times, want once each", allocated, started)
	}
	pid := n.pidOf("holds", "main")

	n.Kill()
	n.up()
	n.waitOffer("2", "2")
	n.unmoved("holds")
	n.apply(using("next", 1))
	n.waitSays("next", "has g1")
	n.tryRefused(using("third", 1), noGadget)
	n.deletePod("next", "")

	g.Kill()
	n.waitOffer("2", "0")
	n.tryRefused(using("fourth", 1), strings.ReplaceAll(noGadget, "requested number of devices unavailable for nodal.test/gadget. Requested: 1, Available: 0",
		"no healthy devices present; cannot allocate unhealthy devices nodal.test/gadget"))
	n.Kill()
	n.up()
	n.unmoved("holds")
	g.begin()
	n.waitOffer("2", "2")
	n.unmoved("holds")
	if now := n.pidOf("holds", "main"); now != pid {
		t.Errorf("the container has process %d, want %d as before", now, pid)
	}

	g.tell("hang", "allocate")
	n.apply(using("waits", 1))
	time.Sleep(time.Second)
	g.tell("fail", "allocate")
	g.tell("hang")
	g.Kill() // which ends the call that hangs
	g.begin()
	n.wait("waits", "waits waits for its device", func(p *corev1.Pod) bool {
		w := containerStatus(p, "main").State.Waiting
		return w != nil && w.Reason == "CreateContainerConfigError" && strings.Contains(w.Message, "allocate fails as it shall")
	})
	g.tell("fail")
	n.waitSays("waits", "has g1")
	n.deletePod("waits", "")
}

func TestAContainerStartsAgainWithoutItsPlugin(t *testing.T) {
	claim.Shows(t, "Devices", "the next agent knows a resource whose plugin has not registered again, and refuses pods that ask for it")
	n := start(t)
	g := n.plugIn()
	n.waitOffer("2", "2")
	n.apply(adding(shell("again", `echo "has $GADGETS"; sleep 2; exit 1`), fmt.Sprintf("resources: {limits: {%s: 1}}", gadget)))
	n.waitSays("again", "has g0")
	g.Kill()
	n.waitOffer("2", "0")
	n.wait("again", "again runs once more", func(p *corev1.Pod) bool {
		return containerStatus(p, "main").RestartCount > 0 && containerStatus(p, "main").State.Running != nil
	})
	n.waitSays("again", "has g0")
	if got := g.heard("allocate g0"); got != 1 {
		t.Errorf("the plugin was asked %d times, want once", got)
	}
	n.deletePod("again", "")
	n.Kill()
	n.up()
	n.tryRefused(using("later", 1), "no healthy devices present")
	n.waitOffer("0", "0")
}

func TestInitContainersShareDevices(t *testing.T) {
	claim.Shows(t, "Devices", "the devices of an init container are used again by those that follow it, and a sidecar keeps its own")
	n := start(t)
	n.plugIn("--devices", "g0,g1")
	n.waitOffer("2", "2")
	n.apply(fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: both}
spec:
  terminationGracePeriodSeconds: 1
  initContainers:
  - {name: first, image: "nodal.test/busybox:1", args: [sh, -c, 'echo "has $GADGETS"'], resources: {limits: {%[1]s: 2}}}
  - {name: side, image: "nodal.test/busybox:1", restartPolicy: Always, args: [sh, -c, 'echo "has $GADGETS"; exec sleep 1000'], resources: {limits: {%[1]s: 1}}}
  containers:
  - {name: main, image: "nodal.test/busybox:1", args: [sh, -c, 'echo "has $GADGETS"; exec sleep 1000'], resources: {limits: {%[1]s: 1}}}
`, gadget))
	n.waitRunning("both")
	n.waitSays("both", "has g1")
	for container, want := range map[string]string{"first": "has g0+g1", "side": "has g0"} {
		if got := n.curl("/containerLogs/default/both/" + container).body; !strings.Contains(got, want) {
			t.Errorf("%s says %q, want %q", container, got, want)
		}
	}
	n.tryRefused(using("other", 1), noGadget)
}

func TestKilledAgentsAndPluginsHandNoDeviceOutTwice(t *testing.T) {
	claim.Shows(t, "Devices", "kills of the agent and of the plugin at any moment give no device to two pods")
	n := start(t)
	g := n.plugIn("--devices", "g0,g1,g2", "--prestart")
	n.waitOffer("3", "3")
	for round := range 12 {
		name := fmt.Sprintf("pod%d", round%4)
		_ = n.curl("/v1/manifests", "--data-binary", using(name, 1+round%2)) // what is refused, is
		time.Sleep(time.Duration(round*37%150) * time.Millisecond)
		if round%2 == 0 {
			g.Kill()
		}
		n.Kill()
		n.up()
		if round%2 == 0 {
			g.begin()
		}
		n.waitOffer("3", "3")
		n.apart()
		if round%3 == 2 {
			n.deletePod(name, "?gracePeriodSeconds=1")
		}
	}
}

// apart checks that no two running pods have one device.
func (n *node) apart() {
	n.t.Helper()
	holders := map[string]string{}
	for _, c := range n.containers("") {
		if !c.running {
			continue
		}
		entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/root/dev", n.processOf(c)))
		if err != nil {
			continue // it ends
		}
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), "gadget-") {
				continue
			}
			if other := holders[e.Name()]; other != "" && other != c.pod {
				n.t.Errorf("%s belongs to %s and to %s", e.Name(), other, c.pod)
			}
			holders[e.Name()] = c.pod
		}
	}
}
