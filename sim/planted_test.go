//go:build !race

// Under the race detector this would take minutes and show nothing more.

package sim

import "testing"

// TestInvariantsCatchPlantedBugs: a planted bug that goes unnoticed would mean that the promises
// of TestSeeds are not worth much.
func TestInvariantsCatchPlantedBugs(t *testing.T) {
	for _, test := range []struct {
		name   string
		bug    Bug
		from   uint64 // a rare one is looked for where it was once found
		within uint64
		by     string // what says the invariant that has to find it; empty: any may
	}{
		{"deciding on a stale snapshot", StaleSnapshot, 1, 500, ""},
		{"removing what is unknown before every source has delivered", SweepEarly, 1, 500, ""},
		{"restarting without counting", ForgetTally, 1, 500, ""},
		{"taking a look for news of what happened after it began", MissWakes, 11800, 20000, ""},
		{"taking a hook that has begun for one that has ended", HastyHooks, 1, 500, ""},
		{"killing before the grace period ends", NoGrace, 1, 500, "was killed"},
		{"forgetting a volume while its files are removed", HastyRemoval, 1, 500, "is forgotten while"},
		{"ending sidecars with what they serve", AllAtOnce, 1, 500, " while "},
		{"ending sidecars before their hooks have", AllAtOnce, 1, 500, "before its preStop hook has ended"},
		{"linking the logs of runs that are started alone", LinkAtStart, 1, 500, "is not linked"},
		{"leaving the links to logs of runs that are removed", KeepLinks, 1, 500, "left links"},
	} {
		t.Run(test.name, func(t *testing.T) {
			seed, _, found := firstFailure(test.from, test.within, test.bug, test.by)
			if !found {
				t.Fatalf("%d seeds and none of them finds it by what says %q", test.within, test.by)
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
