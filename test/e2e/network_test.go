package e2e

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/test/claim"
	"nodal/test/daemon"
)

// TestPodsOfTheOwnRuntimeGetAddressesOfThePodCIDR sets the pod CIDR as upstream's flag does.
func TestPodsOfTheOwnRuntimeGetAddressesOfThePodCIDR(t *testing.T) {
	claim.Shows(t, "Identity and environment", "on the node's own runtime, pods get addresses of podCIDR")
	t.Parallel()
	const subnet = "10.96.211.32/27" // outside the range from which nodes choose by themselves
	d := daemon.StartAlone(t, "--pod-cidr="+subnet)
	d.Import("busybox")
	d.Apply(shell("web", "exec sleep 1000").yaml())
	d.Await("the pod runs on an address of the subnet", func(p daemon.Pods) bool {
		return p.Ready("web") && slices.ContainsFunc(p["web"].GetPodIps(), func(ip string) bool {
			address, err := netip.ParseAddr(ip)
			return err == nil && netip.MustParsePrefix(subnet).Contains(address)
		})
	})
}

// TestPodsWhileThereIsNoNetwork runs a node before its network exists. Often a pod on the host's
// network brings the network.
func TestPodsWhileThereIsNoNetwork(t *testing.T) {
	claim.Shows(t, "Restarts and faults",
		"while the runtime has no network, pods on the host's network run",
		"other pods wait, with the reason and the event NetworkNotReady, and start when there is a network",
		"a network that goes away harms no pod that has an address",
	)
	n := prepare(t)
	if err := n.rt.LoseNetwork(); err != nil {
		t.Fatal(err)
	}
	n.up()
	events := n.follow("/v1/events:watch")
	n.apply(web("waits").yaml())
	n.apply(strings.Replace(runs("bringer", "pause").yaml(), "spec:\n", "spec:\n  hostNetwork: true\n", 1))
	n.waitRunning("bringer")
	if told := events.until(`"NetworkNotReady"`); !strings.Contains(told, "network is not ready: NetworkPluginNotReady") {
		t.Errorf("the event is %s", told)
	}
	p := n.wait("waits", "the reason to wait", func(p *corev1.Pod) bool { return p.Status.Reason == "NetworkNotReady" })
	if p.Status.Phase != corev1.PodPending || condition(p, corev1.PodReadyToStartContainers) != corev1.ConditionFalse {
		t.Errorf("without a network the pod is %+v, want it pending and not ready to start containers", p.Status)
	}
	if got := n.curl("/v1/node"); !strings.Contains(got.body, "cni plugin not initialized") {
		t.Errorf("the node is %s, want the runtime's reason", got)
	}
	if err := n.rt.RegainNetwork(); err != nil {
		t.Fatal(err)
	}
	before := n.waitRunning("waits")
	if got := n.web(before.Status.PodIP); got != "waits\n" || before.Status.Reason != "" {
		t.Errorf("with a network the pod answers %q and is %+v", got, before.Status)
	}
	if err := n.rt.LoseNetwork(); err != nil {
		t.Fatal(err)
	}
	n.apply(web("late").yaml())
	n.wait("late", "the next to wait", func(p *corev1.Pod) bool { return p.Status.Reason == "NetworkNotReady" })
	if after := n.get("waits"); !ready(after) || readyTime(after) != readyTime(before) || n.web(after.Status.PodIP) != "waits\n" {
		t.Errorf("without the network it had, the pod is %+v, want it as before", after.Status)
	}
	if err := n.rt.RegainNetwork(); err != nil {
		t.Fatal(err)
	}
	n.waitRunning("late")
}
