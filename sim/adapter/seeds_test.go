package adapter

import (
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"

	"nodal/node"
	"nodal/sim/cri"
)

var (
	oneSeed = flag.Uint64("seed", 0, "replay this one seed and print its story")
	seeds   = flag.Uint64("seeds", 0, "how many seeds to play")
	from    = flag.Uint64("from", 1, "the first of them")
)

const (
	enough     = 200 // seeds that meet all that they are there to try
	shortSeeds = 50
)

func count() uint64 {
	switch {
	case *seeds != 0:
		return *seeds
	case testing.Short():
		return shortSeeds
	}
	return defaultSeeds
}

// TestSeeds plays many runs; each has to keep every promise.
func TestSeeds(t *testing.T) {
	if *oneSeed != 0 {
		told := play(t, options{seed: *oneSeed, trace: true})
		t.Logf("the story of seed %d:\n%s", *oneSeed, strings.Join(told.trace, "\n"))
		if told.failure != nil {
			t.Errorf("seed %d: %v", *oneSeed, told.failure)
		}
		return
	}
	var all met
	t.Cleanup(func() {
		if count() >= enough && !t.Failed() {
			all.hasAll(t)
		}
	})
	for seed := *from; seed < *from+count(); seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			told := play(t, options{seed: seed, trace: true})
			all.add(told.met)
			if told.failure != nil {
				t.Errorf("%v\n%s\n\nreplay: go test ./sim/adapter -run TestSeeds -seed=%d",
					told.failure, strings.Join(told.trace[max(0, len(told.trace)-lastLines):], "\n"), seed)
			}
		})
	}
}

const lastLines = 60

// met counts what has happened in all runs together.
type met struct {
	mu    sync.Mutex
	count map[string]int
}

func (m *met) add(more map[string]int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.count == nil {
		m.count = map[string]int{}
	}
	for what, count := range more {
		m.count[what] += count
	}
}

// hasAll wants everything to have happened for whose sake seeds are played.
func (m *met) hasAll(t *testing.T) {
	t.Helper()
	wanted := []string{"death ", "death in a commit", "death at rest", "late sandbox"}
	for _, kind := range []cri.EffectKind{
		cri.SandboxStarted, cri.SandboxStopped, cri.SandboxRemoved, cri.ContainerCreated, cri.ContainerStarted,
		cri.ContainerSignaled, cri.ContainerExited, cri.ContainerRemoved, cri.ImagePulled, cri.ImageRemoved,
	} {
		wanted = append(wanted, string(kind))
	}
	for _, action := range []node.Action{
		node.RunSandbox{}, node.StopSandbox{}, node.RemoveSandbox{}, node.InspectSandbox{}, node.CreateContainer{},
		node.StartContainer{}, node.StopContainer{}, node.RemoveContainer{}, node.InspectContainer{},
	} {
		wanted = append(wanted, fmt.Sprintf("open %T", action))
	}
	for _, what := range wanted {
		if m.count[what] == 0 {
			t.Errorf("none of the seeds has met: %s", what)
		}
	}
	t.Logf("the seeds met %v", m.count)
}

// A planted bug that stays hidden would mean that the promises of TestSeeds are not worth
// much.
func TestPlantedBugsAreFound(t *testing.T) {
	for _, test := range []struct {
		name string
		bug  bug
		by   string // what the promise that is broken says; empty: any
	}{
		{"an open outcome passes for a definite failure", unknownIsFailure, "failed for certain"},
		{"an open outcome passes for a success", unknownIsDone, ""},
		{"a list does not tell whose containers are", uidNotRead, ""},
		{"a list does not tell which attempt a container is", attemptNotRead, ""},
		{"a list does not tell what a container was made from", hashNotRead, ""},
		{"a look that fails shows nothing", failedLookIsEmpty, ""},
		{"a stop leaves no time", noGrace, "is killed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for seed := uint64(1); seed <= plantedWithin; seed++ {
				told := play(t, options{seed: seed, bug: test.bug})
				if told.failure != nil && strings.Contains(told.failure.Error(), test.by) {
					t.Logf("seed %d: %v", seed, told.failure)
					return
				}
			}
			t.Errorf("none of %d seeds finds it", plantedWithin)
		})
	}
}

const plantedWithin = 60
