package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/reconciler"
)

// PublishOnce sees no volume that is published, so that none is published again.
const PublishOnce Bug = "publishing volumes once, though their driver wants more"

// republished is the realm of volumes that their driver wants to publish again and again. Each pod has one, from the first
// look on. When the time for faults is over, each has to be published once more; then the driver has enough.
type republished struct {
	still
	*world
	faults *faults
	at     map[types.UID]time.Time // the last publication, which outlives agents
	calmed time.Time               // when the time for faults was over
	enough bool
	news   int64
}

var _ realm = (*republished)(nil)

func newRepublished(w *world, o Options) *republished {
	return &republished{world: w, faults: newFaults(rand.New(rand.NewPCG(o.Seed, 6)), o.Without), at: map[types.UID]time.Time{}, news: 1}
}

func (r *republished) name() string    { return "PublishedVolume" }
func (r *republished) chance() *faults { return r.faults }

// Revision and Changed make the realm the board: the driver rings when it has enough.
func (r *republished) Revision() int64          { return r.news }
func (r *republished) Changed() <-chan struct{} { return nil } // a turn comes with the next errand

func (r *republished) kind(a *agent) reconciler.Kind {
	drivers := func() []string {
		if r.enough {
			return nil
		}
		return []string{"secrets"}
	}
	of := func(pod *node.Pod, drivers []string) []string {
		if view, ok := a.store.View(pod.Key()); ok && view.Slot.Result != nil {
			return nil
		}
		return drivers
	}
	return reconciler.PublishedVolumes(drivers, of, r, publisher{r, a})
}

// publisher is the adapter of one agent.
type publisher struct {
	*republished
	agent *agent
}

var _ reconciler.Publications = publisher{}

func (p publisher) Published(_ context.Context, v node.PublishedVolume) (time.Time, error) {
	if p.agent.bug == PublishOnce {
		return time.Time{}, nil
	}
	if p.at[v.Pod.UID()].IsZero() {
		p.at[v.Pod.UID()] = p.clock()
	}
	return p.at[v.Pod.UID()], nil
}

func (p publisher) Republish(_ context.Context, v node.PublishedVolume) error {
	if last := p.at[v.Pod.UID()]; last.IsZero() {
		p.witness.failf("a volume of pod %s is published again before its pod has it", v.Pod.Key())
	}
	p.at[v.Pod.UID()] = p.clock()
	return nil
}

func (r *republished) calm() {
	r.faults.end()
	r.calmed = r.clock()
}

func (r *republished) bugs() []planted {
	return []planted{{PublishOnce, 0, 20, "is not published again"}}
}

func (r *republished) situations() []string {
	return append(deaths("RepublishVolume"), "RepublishVolume fails", "RepublishVolume has no answer")
}

// unsettled returns an error unless each volume was published again after the time for faults.
func (r *republished) unsettled(a *agent) error {
	if r.enough {
		return nil
	}
	views, _ := a.store.Views()
	for _, view := range views {
		if last := r.at[view.Slot.Pod.UID()]; view.Slot.Result == nil && !last.After(r.calmed) {
			return fmt.Errorf("the volume of pod %s is not published again", view.Key)
		}
	}
	r.enough = true
	r.news++
	a.turn()
	return nil
}
