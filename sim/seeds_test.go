package sim

import (
	"flag"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

var (
	oneSeed = flag.Uint64("seed", 0, "replay this one seed and print its story")
	seeds   = flag.Uint64("seeds", 0, "number of seeds to play")
	from    = flag.Uint64("from", 1, "first seed")
)

// TestSeeds plays many runs. Each has to keep every promise.
func TestSeeds(t *testing.T) {
	if *oneSeed != 0 {
		report := Run(Options{Seed: *oneSeed, Trace: true})
		t.Logf("the story of seed %d:\n%s", *oneSeed, strings.Join(report.Trace, "\n"))
		if report.Failure != nil {
			t.Errorf("seed %d: %v", *oneSeed, report.Failure)
		}
		return
	}
	for _, seed := range known(t) {
		if Run(Options{Seed: seed}).Failure != nil {
			explain(t, seed)
			return
		}
	}
	seed, all, failed := firstFailure(*from, count(), NoBug, "")
	if failed {
		explain(t, seed)
	}
	if !failed && count() >= enough {
		all.hasAll(t)
	}
}

// TestSeedsOfAMachineThatShutsDown plays runs in which the machine reboots, or stays up after all.
func TestSeedsOfAMachineThatShutsDown(t *testing.T) {
	if *oneSeed != 0 {
		report := Run(Options{Seed: *oneSeed, Trace: true, Down: true})
		t.Logf("the story of seed %d:\n%s", *oneSeed, strings.Join(report.Trace, "\n"))
		if report.Failure != nil {
			t.Errorf("seed %d: %v", *oneSeed, report.Failure)
		}
		return
	}
	played := count()
	if *seeds == 0 {
		played = min(played, 300)
	}
	seed, all, failed := firstFailureOf(Options{Down: true}, *from, played, "")
	if failed {
		t.Fatalf("seed %d: %v\nreplay: go test ./sim -run TestSeedsOfAMachineThatShutsDown -seed=%d",
			seed, Run(Options{Seed: seed, Down: true}).Failure, seed)
	}
	for _, what := range []string{
		"shutdown: the machine reboots", "shutdown: called off", "shutdown: a critical pod ends",
		"shutdown: a pod that was kept out is admitted", "death: SetHalted, before its answer",
	} {
		if all[what] == 0 && played >= 1000 {
			t.Errorf("none of the seeds has met: %s", what)
		}
	}
}

// known returns the seeds that have found a fault before.
func known(t *testing.T) []uint64 {
	t.Helper()
	text, err := os.ReadFile("testdata/seeds.txt")
	if err != nil {
		t.Fatal(err)
	}
	var list []uint64
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 0 && fields[0] != "#" {
			seed, err := strconv.ParseUint(fields[0], 10, 64)
			if err != nil {
				t.Fatalf("read testdata/seeds.txt: %v", err)
			}
			list = append(list, seed)
		}
	}
	return list
}

func count() uint64 {
	switch {
	case *seeds != 0:
		return *seeds
	case testing.Short():
		return 500
	}
	return defaultSeeds
}

// firstFailure plays n seeds. It returns the first that fails with an error that contains says, and
// the situations that all of them met.
func firstFailure(from, n uint64, bug Bug, says string) (uint64, met, bool) {
	return firstFailureOf(Options{Bug: bug}, from, n, says)
}

// firstFailureOf does so for runs with the given options.
func firstFailureOf(o Options, from, n uint64, says string) (uint64, met, bool) {
	defer debug.SetGCPercent(debug.SetGCPercent(800)) // runs make much garbage and keep none of it
	var next, failed atomic.Uint64
	next.Store(from - 1)
	failed.Store(from + n)
	var workers sync.WaitGroup
	all := make([]met, runtime.GOMAXPROCS(0))
	for i := range all {
		all[i] = met{}
		workers.Go(func() {
			for seed := next.Add(1); seed < failed.Load(); seed = next.Add(1) {
				one := o
				one.Seed = seed
				report := Run(one)
				all[i].add(report.Met)
				if report.Failure == nil || !strings.Contains(report.Failure.Error(), says) {
					continue
				}
				for worst := failed.Load(); seed < worst && !failed.CompareAndSwap(worst, seed); worst = failed.Load() {
				}
			}
		})
	}
	workers.Wait()
	for _, one := range all[1:] {
		all[0].add(one)
	}
	return failed.Load(), all[0], failed.Load() < from+n
}

const lastLines = 60

// explain logs the end of a failed run, with as few faults as reproduce it.
func explain(t *testing.T, seed uint64) {
	t.Helper()
	needless := shrink(seed)
	report := Run(Options{Seed: seed, Without: needless, Trace: true})
	lines := report.Trace[max(0, len(report.Trace)-lastLines):]
	t.Errorf("seed %d: %v\n%s\n\nwithout the faults %v it is: %v\n\nreplay: go test ./sim -run TestSeeds -seed=%d",
		seed, Run(Options{Seed: seed}).Failure, strings.Join(lines, "\n"), needless, report.Failure, seed)
}

// shrink returns the faults that a failure does not need.
func shrink(seed uint64) []Kind {
	var needless []Kind
	for _, kind := range Kinds() {
		without := append(needless[:len(needless):len(needless)], kind)
		if Run(Options{Seed: seed, Without: without}).Failure != nil {
			needless = without
		}
	}
	return needless
}
