//go:build !race

// The race detector makes it six times slower, and TestSeeds shows it the same code.
package sim

import "testing"

// Agents die while they take objects from files, and clients of the API claim the same names. What is in force is what the
// directory says, and what was posted.
func TestObjectsAreWhatTheirFilesSay(t *testing.T) {
	const seeds = 150
	all := met{}
	for seed := uint64(1); seed <= seeds; seed++ {
		report := Run(Options{Seed: seed, Filed: true})
		if report.Failure != nil {
			t.Fatalf("seed %d: %v", seed, report.Failure)
		}
		all.add(report.Met)
	}
	for _, what := range []string{
		"files: the directory is away", "files: a conflict", "files: the API is refused", "files: the agent dies in a delivery",
	} {
		if all[what] == 0 {
			t.Errorf("none of the seeds has met: %s", what)
		}
	}
	for _, bug := range []planted{
		{PruneUnread, 1, 50, "the file was not seen to be"},
		{TakeOver, 1, 50, "and the API was answered"},
	} {
		seed, _, found := firstFailureOf(Options{Bug: bug.bug, Filed: true}, bug.from, bug.within, bug.by)
		if !found {
			t.Errorf("%d seeds do not find the bug: %s", bug.within, bug.bug)
			continue
		}
		t.Logf("%s: seed %d: %v", bug.bug, seed, Run(Options{Seed: seed, Bug: bug.bug, Filed: true}).Failure)
	}
}
