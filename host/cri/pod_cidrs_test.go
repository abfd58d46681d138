package cri_test

import (
	"testing"

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
