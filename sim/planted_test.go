//go:build !race

// Under the race detector this would take minutes and find nothing more.

package sim

import "testing"

// TestInvariantsCatchPlantedBugs: if an invariant missed a planted bug, a green TestSeeds would
// prove little.
func TestInvariantsCatchPlantedBugs(t *testing.T) {
	bugs := []planted{
		{StaleSnapshot, 1, 500, ""},
		{SweepEarly, 1, 500, ""},
		{HastyCluster, 1, 500, "a source has not said yet"},
		{UnaskedCluster, 1, 500, "it is wanted"},
		{ForgetTally, 1, 500, ""},
		{MissWakes, 11800, 20000, ""},
		{HastyHooks, 1, 500, ""},
		{NoGrace, 1, 500, "was killed"},
		{AllAtOnce, 1, 500, " while "},
		{AllAtOnce, 1, 1000, "before its preStop hook has ended"},
		{LinkAtStart, 1, 500, "is not linked"},
		{KeepLinks, 1, 500, "left links"},
		{HomesFirst, 1, 1000, "the logs of uid"},
		{WrongPod, 1, 500, "exceeds its requests by more"},
		{TwoAtOnce, 1, 500, "still ends"},
		{Overtake, 1, 500, "begins before"},
		{OfferTwice, 1, 500, "belongs to"},
		{BlindWish, 1, 1000, "belongs to"},
		{HastyDevices, 1, 1000, "starts, and the plugin"},
		{ClaimTwice, 1, 1000, "is unprepared beneath"},
	}
	for _, r := range newSimulation(Options{}).realms {
		bugs = append(bugs, r.bugs()...)
	}
	for _, test := range bugs {
		t.Run(string(test.bug), func(t *testing.T) {
			seed, _, found := firstFailure(test.from, test.within, test.bug, test.by)
			if !found {
				t.Fatalf("none of %d seeds finds it with an error that contains %q", test.within, test.by)
			}
			t.Logf("seed %d: %v", seed, Run(Options{Seed: seed, Bug: test.bug}).Failure)
		})
	}
}

func TestInvariantsCatchPlantedBugsOfAShutdown(t *testing.T) {
	for _, test := range []planted{
		{AllPhasesAtOnce, 1, 500, "is critical and ends while"},
		{TooMuchGrace, 1, 500, "its phase takes"},
		{NoReturn, 1, 500, "all was calm"},
		{EarlyRelease, 1, 500, "the machine may go on"},
	} {
		t.Run(string(test.bug), func(t *testing.T) {
			seed, _, found := firstFailureOf(Options{Bug: test.bug, Down: true}, test.from, test.within, test.by)
			if !found {
				t.Fatalf("none of %d seeds finds it with an error that contains %q", test.within, test.by)
			}
			t.Logf("seed %d: %v", seed, Run(Options{Seed: seed, Bug: test.bug, Down: true}).Failure)
		})
	}
}

func TestASeedIsPlayedTheSameEachTime(t *testing.T) {
	for seed := range uint64(20) {
		first, second := Run(Options{Seed: seed, Trace: true}), Run(Options{Seed: seed, Trace: true})
		if len(first.Trace) != len(second.Trace) {
			t.Fatalf("seed %d has %d lines, then %d", seed, len(first.Trace), len(second.Trace))
		}
		for i := range first.Trace {
			if first.Trace[i] != second.Trace[i] {
				t.Fatalf("seed %d, line %d: %q, then %q", seed, i, first.Trace[i], second.Trace[i])
			}
		}
	}
}
