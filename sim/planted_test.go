//go:build !race

// Under the race detector this would take minutes and find nothing more.

package sim

import "testing"

// TestInvariantsCatchPlantedBugs: if an invariant missed a planted bug, a green TestSeeds would
// prove little.
func TestInvariantsCatchPlantedBugs(t *testing.T) {
	for _, test := range []struct {
		name   string
		bug    Bug
		from   uint64 // the seed at which a rare bug shows
		within uint64
		by     string // part of the invariant's error; empty: any error
	}{
		{"deciding on a stale snapshot", StaleSnapshot, 1, 500, ""},
		{"removing what is unknown before every source has delivered", SweepEarly, 1, 500, ""},
		{"restarting without counting", ForgetTally, 1, 500, ""},
		{"taking a look for news of what happened after it began", MissWakes, 11800, 20000, ""},
		{"taking a hook that has begun for one that has ended", HastyHooks, 1, 500, ""},
		{"killing before the grace period ends", NoGrace, 1, 500, "was killed"},
		{"forgetting a volume while its files are removed", HastyRemoval, 1, 500, "is forgotten while"},
		{"taking a socket that is made anew for the one before", SameSocket, 1, 500, "has not heard"},
		{"ending sidecars together with the containers that they serve", AllAtOnce, 1, 500, " while "},
		{"ending sidecars before their hooks have", AllAtOnce, 1, 500, "before its preStop hook has ended"},
		{"linking the logs of started runs only", LinkAtStart, 1, 500, "is not linked"},
		{"leaving the links to logs of runs that are removed", KeepLinks, 1, 500, "left links"},
	} {
		t.Run(test.name, func(t *testing.T) {
			seed, _, found := firstFailure(test.from, test.within, test.bug, test.by)
			if !found {
				t.Fatalf("none of %d seeds finds it with an error that contains %q", test.within, test.by)
			}
			t.Logf("seed %d: %v", seed, Run(Options{Seed: seed, Bug: test.bug}).Failure)
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
