//go:build !race

package sim

import "testing"

// Agents follow each other with and without memory QoS: what the kernel keeps of pods and containers that run on is what
// the last agent wants.
func TestEachAgentHasTheKernelKeepWhatItWants(t *testing.T) {
	const seeds = 60
	changed := 0
	for seed := uint64(1); seed <= seeds; seed++ {
		report := Run(Options{Seed: seed, Guarded: true})
		if report.Failure != nil {
			t.Fatalf("seed %d: %v", seed, report.Failure)
		}
		changed += report.Met["the kernel keeps memory"]
	}
	if changed == 0 {
		t.Error("no seed has had the kernel keep memory")
	}
	for seed := uint64(1); seed <= 5*seeds; seed++ {
		if Run(Options{Seed: seed, Guarded: true, Bug: ForgetGuard}).Failure != nil {
			return
		}
	}
	t.Errorf("%d seeds do not find the bug: %s", 5*seeds, ForgetGuard)
}
