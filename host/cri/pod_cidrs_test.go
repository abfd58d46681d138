package cri_test

import (
	"testing"

	"nodal/node"
	sim "nodal/sim/cri"
)

func TestTheRuntimeIsToldTheSubnetsOfPods(t *testing.T) {
	onSimWith(t, sim.Config{}, testConfig(t), func(f *fixture, server *sim.Server) {
		if err := f.cri.UsePodCIDRs(f.Context(), []string{"10.244.1.0/24", "fd00:244:1::/64"}); err != nil {
			t.Fatal(err)
		}
		if got, want := server.PodCIDR(), "10.244.1.0/24,fd00:244:1::/64"; got != want {
			t.Errorf("the runtime was told %q, want %q", got, want)
		}
	})
}

// While a pod is being made, the network takes no other subnets: kube-proxy would keep them from CoreDNS.
func TestTheNetworkIsHeldForPodsOfItsOwn(t *testing.T) {
	for _, hosts := range []bool{false, true} {
		config := testConfig(t)
		held := 0
		config.Making = func() func() {
			held++
			return func() {}
		}
		onSimWith(t, sim.Config{}, config, func(f *fixture, _ *sim.Server) {
			f.pod.Object.Spec.HostNetwork = hosts
			f.do(node.RunSandbox{})
		})
		if want := map[bool]int{false: 1, true: 0}[hosts]; held != want {
			t.Errorf("for a pod with hostNetwork=%t the network was held %d times, want %d", hosts, held, want)
		}
	}
}
