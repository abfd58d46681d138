package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"nodal/test/claim"
)

func TestAPluginPrefersDevices(t *testing.T) {
	claim.Shows(t, "Devices",
		"a plugin that offers it chooses which free devices a container gets, with those that an init container had among them",
		"a plugin that errs, hangs or prefers devices which are not free costs its pod the wish, and other pods nothing",
	)
	n := start(t)
	g := n.plugIn("--devices", "g0,g1,g2,g3,g4", "--prefer")
	n.waitOffer("5", "5")
	n.apply(using("last", 1))
	n.waitSays("last", "has g4")
	g.tell("wish", "g4", "g9", "g2", "g1")
	n.apply(using("free", 1))
	n.waitSays("free", "has g2")
	g.tell("fail", "prefer")
	n.apply(using("errs", 1))
	n.waitSays("errs", "has g0")
	n.deletePod("errs", "?gracePeriodSeconds=1")
	g.tell("fail")
	g.tell("wish", "g3")
	n.apply(fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: both}
spec:
  terminationGracePeriodSeconds: 1
  initContainers:
  - {name: first, image: "nodal.test/busybox:1", args: [sh, -c, 'echo "has $GADGETS"'], resources: {limits: {%[1]s: 1}}}
  containers:
  - {name: main, image: "nodal.test/busybox:1", args: [sh, -c, 'echo "has $GADGETS"; exec sleep 1000'], resources: {limits: {%[1]s: 2}}}
`, gadget))
	n.waitSays("both", "has g1+g3") // of g0 and g1, which it was accepted with, the init container has given one up
	if got := n.curl("/containerLogs/default/both/first").body; !strings.Contains(got, "has g3") {
		t.Errorf("the init container says %q, want g3", got)
	}
	if got := g.heard("prefer g0+g1+g3+with+g3"); got != 1 {
		t.Errorf("the plugin was asked %d times to choose among g0, g1 and g3, with g3", got)
	}
	n.deletePod("both", "?gracePeriodSeconds=1")
	g.tell("hang", "prefer")
	n.apply(using("hangs", 1))
	n.apply(shell("beside", "echo runs; exec sleep 1000").yaml())
	n.waitSays("beside", "runs")
	if got := n.curl("/containerLogs/default/hangs/main").body; strings.Contains(got, "has") {
		t.Errorf("the pod of a plugin that hangs says %q before another one has started", got)
	}
	n.waitSays("hangs", "has g0")
	n.apply(using("after", 1))
	n.waitSays("after", "has g1")
	if got := g.heard("prefer g0+g1+g3+with"); got != 3 {
		t.Errorf("the plugin was asked %d times to choose among g0, g1 and g3: want not again after it did not answer", got)
	}
}

func TestADevicePluginIsFoundInTheRegistry(t *testing.T) {
	claim.Shows(t, "Devices",
		"a device plugin that registers in plugins_registry is used like one that registers on kubelet.sock",
		"GET /v1/node/plugins shows each resource of a device plugin with its socket, and how many devices there are, are healthy and belong to pods",
	)
	n := start(t)
	registry := filepath.Join(n.Root(), "plugins_registry")
	g := n.plugIn("--registry", registry, "--devices", "g0,g1,g2")
	n.waitOffer("3", "3")
	n.apply(using("one", 1))
	n.waitSays("one", "has g0")
	g.tell("sick", "g2")
	n.waitOffer("3", "2")
	type shown struct {
		Name, Socket, Message       string
		Connected                   bool
		Capacity, Healthy, Assigned int
	}
	resources := func() (all []shown) {
		var answer struct{ Devices []shown }
		n.curl("/v1/node/plugins").into(n, &answer)
		return answer.Devices
	}
	want := shown{gadget, filepath.Join(registry, "test.sock"), "", true, 3, 2, 1}
	if got := resources(); len(got) != 1 || got[0] != want {
		t.Errorf("the API shows %+v, want %+v", got, want)
	}
	if got := n.plugins(); len(got) != 1 || got[0].Type != "DevicePlugin" || got[0].Name != gadget || !got[0].Registered {
		t.Errorf("the API shows the plugins %+v", got)
	}

	n.Kill()
	n.up()
	n.waitOffer("3", "2") // the plugin need not do anything for the next agent
	n.unmoved("one")
	g.Kill()
	n.waitOffer("3", "0")
	if got := resources(); len(got) != 1 || got[0].Connected || got[0].Message == "" || got[0].Assigned != 1 {
		t.Errorf("without its plugin the API shows %+v", got)
	}
	g.begin()
	n.waitOffer("3", "2")
	n.apply(using("two", 1))
	n.waitSays("two", "has g1")
}
