//go:build !race

// The race detector makes it six times slower, and TestSeeds shows it the same code.
package sim

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"nodal/node"
	"nodal/reconciler"
	"nodal/reconciler/decide"
)

// stageVolume and unstageVolume are the actions of a kind of asset that exists here only: volumes that several pods
// share. Each is staged on the node for its first user and unstaged after its last, as CSI drivers ask for. It follows
// the recipe in CONTRIBUTING.md, and shows that the loop has to know no more of a kind.
type (
	stageVolume   struct{ name string }
	unstageVolume struct{ name string }
)

var _, _ node.Action = stageVolume{}, unstageVolume{}

func (stageVolume) Target() string      { return "stage" }
func (unstageVolume) Target() string    { return "stage" }
func (a stageVolume) String() string    { return "stage " + a.name }
func (a unstageVolume) String() string  { return "unstage " + a.name }
func (stageVolume) About() node.About   { return node.About{Place: node.OnMachine, Nature: node.Quick} }
func (unstageVolume) About() node.About { return node.About{Place: node.OnMachine, Nature: node.Quick} }

// stagedVolumes are those that pods share.
var stagedVolumes = [...]string{"blue", "red"}

// stagedFor returns the volume that a pod uses.
func stagedFor(pod node.Key) string { return stagedVolumes[len(pod.Name)%len(stagedVolumes)] }

// stagedBoard tells the loop that something was staged or unstaged.
type stagedBoard struct{ revision int64 }

func (b *stagedBoard) Revision() int64          { return b.revision }
func (b *stagedBoard) Changed() <-chan struct{} { return nil } // each errand ends with a turn

// decideStaged plans for one volume. A look shows whether it is staged.
func decideStaged(in decide.Asset[string, bool]) (p decide.Plan) {
	if fault, rests := in.Faults["stage"]; rests && in.Now.Before(fault.Retry) {
		p.Wake = fault.Retry
		return p
	}
	switch used := len(in.Users) > 0; {
	case used && !in.Look:
		p.Actions = []node.Action{stageVolume{in.Want}}
	case !used && in.Look && in.Sure:
		p.Actions = []node.Action{unstageVolume{in.Want}}
	}
	return p
}

// staging is the realm of staged volumes.
type staging struct {
	still
	*world
	faults *faults
	staged map[string]bool // outlives agents
}

var _ realm = (*staging)(nil)

const unstageUsed Bug = "unstaging a volume that pods use"

func newStaging(w *world, o Options) realm {
	return &staging{world: w, faults: newFaults(rand.New(rand.NewPCG(o.Seed, 4)), o.Without), staged: map[string]bool{}}
}

func (s *staging) name() string    { return "StagedVolume" }
func (s *staging) chance() *faults { return s.faults }

func (s *staging) kind(a *agent) reconciler.Kind {
	board := &stagedBoard{revision: 1} // the agent before may have left some
	return reconciler.KindOf[string, bool]{
		Name: s.name(), OfPods: true, Boards: []reconciler.Board{board}, Plan: decideStaged,
		Wanted: func(pods iter.Seq[*node.Pod]) (wanted []reconciler.Wanted[string]) {
			users := map[string][]node.Key{}
			for name := range s.staged {
				users[name] = nil
			}
			for pod := range pods {
				users[stagedFor(pod.Key())] = append(users[stagedFor(pod.Key())], pod.Key())
			}
			for _, name := range slices.Sorted(maps.Keys(users)) {
				w := reconciler.Wanted[string]{Name: name, Users: users[name], Want: name}
				if a.bug == unstageUsed && len(w.Users) == 1 {
					w.Users = nil
				}
				wanted = append(wanted, w)
			}
			return wanted
		},
		Look: func(_ context.Context, name string) (bool, error) { return s.staged[name], nil },
		Do: func(_ context.Context, action node.Action) error {
			board.revision++
			if stage, ok := action.(stageVolume); ok {
				s.staged[stage.name] = true
			} else {
				delete(s.staged, action.(unstageVolume).name)
			}
			return nil
		},
	}
}

// begins checks that no pod uses a volume that is to be unstaged, whether the agent knows of the pod or not.
func (s *staging) begins(e *errand) {
	unstage, ok := e.action.(unstageVolume)
	if !ok {
		return
	}
	for pod := range s.users(e.agent, unstage.name) {
		s.witness.failf("volume %s is unstaged beneath pod %s", unstage.name, pod.Key())
	}
	for key, l := range s.witness.wanted {
		if stagedFor(key) == unstage.name && len(s.runsOf(l)) > 0 && l.result == "" {
			s.witness.failf("volume %s is unstaged beneath the containers of pod %s", unstage.name, key)
		}
	}
}

// users returns the pods that use a volume.
func (s *staging) users(a *agent, name string) iter.Seq[*node.Pod] {
	return func(yield func(*node.Pod) bool) {
		views, _ := a.store.Views()
		for _, v := range views {
			if stagedFor(v.Key) == name && !yield(v.Slot.Pod) {
				return
			}
		}
	}
}

func (s *staging) calm() { s.faults.end() }

// unsettled returns an error unless the staged volumes are those that pods use.
func (s *staging) unsettled(a *agent) error {
	for _, name := range stagedVolumes {
		used := false
		for range s.users(a, name) {
			used = true
		}
		if used != s.staged[name] {
			return fmt.Errorf("volume %s is used: %t, and is staged: %t", name, used, s.staged[name])
		}
	}
	return nil
}

func (s *staging) situations() []string {
	return append(deaths("stageVolume", "unstageVolume"), "stageVolume fails", "unstageVolume has no answer")
}

func TestAKindOfAssetOfItsOwnKeepsItsPromises(t *testing.T) {
	all := met{}
	for seed := range uint64(300) {
		report := Run(Options{Seed: seed, Extra: newStaging})
		if report.Failure != nil {
			t.Fatalf("seed %d: %v", seed, report.Failure)
		}
		all.add(report.Met)
	}
	for _, what := range (&staging{}).situations() {
		if all[what] == 0 {
			t.Errorf("none of the seeds has met: %s", what)
		}
	}
}

func TestAPlantedBugOfAKindIsFound(t *testing.T) {
	for seed := range uint64(50) {
		report := Run(Options{Seed: seed, Extra: newStaging, Bug: unstageUsed})
		if report.Failure != nil && strings.Contains(report.Failure.Error(), "is unstaged beneath") {
			return
		}
	}
	t.Error("none of the seeds finds it")
}
