package noderuntime

import (
	"context"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/host/podnet"
	"nodal/host/runtime"
)

// moves has the network take other subnets, if it can.
func (n *node) moves(r *runtime.Runtime, to []netip.Prefix) bool {
	n.t.Helper()
	moved, err := n.network.Move(n.t.Context(), to, func(ctx context.Context) error { return r.AwaitSubnets(ctx, to) })
	must(n.t, err)
	return moved
}

// wantWithin checks that a pod has an address of each subnet, that the bridge has the first one, and that the pod
// reaches the host and itself.
func (n *node) wantWithin(sandbox string, subnets []netip.Prefix) {
	n.t.Helper()
	reply, err := n.cri.PodSandboxStatus(n.t.Context(), &runtimeapi.PodSandboxStatusRequest{PodSandboxId: sandbox})
	must(n.t, err)
	addresses := []string{reply.GetStatus().GetNetwork().GetIp()}
	for _, more := range reply.GetStatus().GetNetwork().GetAdditionalIps() {
		addresses = append(addresses, more.GetIp())
	}
	link, err := net.InterfaceByName(n.network.Bridge())
	must(n.t, err)
	own, err := link.Addrs()
	must(n.t, err)
	if len(addresses) != len(subnets) {
		n.t.Errorf("the pod has %v, want an address of each of %v", addresses, subnets)
	}
	for _, s := range subnets {
		if !slices.ContainsFunc(addresses, func(a string) bool { return s.Contains(netip.MustParseAddr(a)) }) {
			n.t.Errorf("the pod has %v, want an address of %v", addresses, s)
		}
		first := netip.PrefixFrom(s.Masked().Addr().Next(), s.Bits()).String()
		if !slices.ContainsFunc(own, func(a net.Addr) bool { return a.String() == first }) {
			n.t.Errorf("the bridge has %v, want %s", own, first)
		}
	}
	if got := getFrom(n.t, n.namespace(sandbox), net.JoinHostPort(addresses[0], "8080"), "/"); got != "hello" {
		n.t.Errorf("the pod answers itself with %q", got)
	}
}

func TestPodsToComeGetOtherSubnetsWhileNoneIsThere(t *testing.T) {
	n := newNode(t)
	r := n.start()
	before := n.network.Subnets()
	given := []netip.Prefix{netip.MustParsePrefix("10.95.254.0/25")}
	if len(before) > 1 { // the host has IPv6
		given = append(given, netip.MustParsePrefix("fd95:254::/64"))
	}
	sandbox, container := n.pod("a")
	if n.moves(r, given) {
		t.Fatal("the network has moved under a pod")
	}
	n.wantWithin(sandbox, before)
	n.wantRunning(container)
	n.remove("a", sandbox)
	made := n.network.Making()
	if n.moves(r, given) {
		t.Fatal("the network has moved while a pod was being made")
	}
	made()
	if !n.moves(r, given) {
		t.Fatal("the network stays where no pod is")
	}
	sandbox, container = n.pod("b")
	n.wantWithin(sandbox, given)

	// The next agent keeps them, and what is left of the earlier ones costs nothing.
	must(t, r.Close())
	n.network = podnet.New(podnet.Config{Places: podnet.Places(n.config.Places()), Reopens: len(n.config.Index) > 0})
	n.config.Network = n.network
	r = n.start()
	if got := n.network.Subnets(); !slices.Equal(got, given) {
		t.Errorf("after a restart the subnets are %v, want %v", got, given)
	}
	n.wantRunning(container)
	n.wantWithin(sandbox, given)
	n.remove("b", sandbox)
	if !n.moves(r, before) {
		t.Fatal("the network does not go back")
	}
	sandbox, _ = n.pod("c")
	n.wantWithin(sandbox, before)
	must(t, r.Stop(t.Context()))
	must(t, r.Close())
}

// remove removes a pod, and its cgroups as an agent would.
func (n *node) remove(name, sandbox string) {
	n.t.Helper()
	_, err := n.cri.StopPodSandbox(n.t.Context(), &runtimeapi.StopPodSandboxRequest{PodSandboxId: sandbox})
	must(n.t, err)
	_, err = n.cri.RemovePodSandbox(n.t.Context(), &runtimeapi.RemovePodSandboxRequest{PodSandboxId: sandbox})
	must(n.t, err)
	n.removeCgroups(name)
}

func (n *node) removeCgroups(name string) {
	n.t.Helper()
	for _, tree := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/*"} {
		left, _ := filepath.Glob(tree + "/kubepods-nodal-runtime/pod" + name) // the pattern is well-formed
		for _, dir := range left {
			must(n.t, os.Remove(dir))
		}
	}
}
