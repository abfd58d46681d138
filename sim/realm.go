package sim

import (
	"fmt"

	"nodal/reconciler"
)

// newRealms returns the realms of a world, one for each kind of asset.
func newRealms(w *world, f *faults, o Options) []realm {
	all := []realm{
		&released{world: w, faults: f},
		newPlugins(w, o),
		newCSIVolumes(w, o),
		newRepublished(w, o),
		newGrown(w, o),
	}
	if o.Extra != nil {
		all = append(all, o.Extra(w, o))
	}
	return all
}

// realm is the world's side of one kind of asset: what there is of it, which outlives agents, the faults that strike
// it, and what has to hold. A realm embeds still, and says what differs.
type realm interface {
	// name returns the kind's name, and kind declares it for an agent that starts.
	name() string
	kind(a *agent) reconciler.Kind
	// chance decides about the calls and looks. A source of its own leaves the rest of a seed's run as it is.
	chance() *faults
	// seldom reports whether chance alone would seldom kill an agent around an action. The deaths are helped then.
	seldom() bool
	// begins is called when an action has begun.
	begins(e *errand)
	// boot is called when an agent has started, strive when the time for faults begins, and calm when it ends.
	boot(a *agent)
	strive(agent func() *agent)
	calm()
	// unsettled returns the first promise that is not yet kept, or nil.
	unsettled(a *agent) error
	// bugs returns the mistakes that seeds have to find, and situations what they have to meet.
	bugs() []planted
	situations() []string
}

// still is a realm in which nothing happens by itself.
type still struct{}

func (still) seldom() bool         { return false }
func (still) begins(*errand)       {}
func (still) boot(*agent)          {}
func (still) strive(func() *agent) {}
func (still) calm()                {}
func (still) bugs() []planted      { return nil }

// planted is a bug that seeds have to find.
type planted struct {
	bug    Bug
	from   uint64 // the seed at which a rare bug shows
	within uint64
	by     string // part of the invariant's error; empty means any error
}

// realmOf returns the realm of an asset.
func (w *world) realmOf(t *reconciler.Tended) realm {
	for _, r := range w.realms {
		if r.name() == t.Asset().Key.Kind {
			return r
		}
	}
	panic(fmt.Sprintf("no realm plays %s", t.Asset().Key))
}

// deaths returns the situations in which an agent dies before the effect and before the answer of actions.
func deaths(actions ...string) (all []string) {
	for _, name := range actions {
		all = append(all, "death: "+name+", before its effect", "death: "+name+", before its answer")
	}
	return all
}
