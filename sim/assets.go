package sim

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"nodal/node"
	"nodal/reconciler"
)

// errand is an action on an asset in flight. The agent itself does the work, so a dead agent's
// errand has no effect.
type errand struct {
	agent  *agent
	t      *reconciler.Tended
	realm  realm
	action node.Action
	fate   fate
	done   bool // the effect came, or never will
}

// moment names the point of the errand at which the agent died.
func (e *errand) moment() string {
	if e.done {
		return "before its answer"
	}
	return "before its effect"
}

// Tend begins an errand.
func (h hands) Tend(t *reconciler.Tended, action node.Action) (cancel func()) {
	of := h.world.realmOf(t)
	e := &errand{agent: h.agent, t: t, realm: of, action: action, fate: of.chance().fate()}
	h.begun++
	h.errands = append(h.errands, e)
	h.world.trace.addf("agent: begins %s (%s)", action, e.fate.kind)
	h.world.witness.tends(h.agent, e)
	h.world.after(e.fate.travel+e.fate.work, e.arrive)
	of.begins(e)
	return func() {} // an errand is never cancelled: each of its outcomes is safe
}

// arrive has the effect, unless the agent dies before or after it.
func (e *errand) arrive() {
	w := e.agent.world
	if w.around(e.agent, e.action, e.realm.seldom()); e.agent.dead {
		return
	}
	var err error
	switch kind := e.fate.kind; {
	case e.atRisk() && kind == Refuse:
		w.met.addf("%s fails", node.KindOf(e.action))
		err = refused("Refused", "%s: injected", e.action)
	default:
		err = e.t.Do(context.Background(), e.action)
	}
	e.done = true
	w.around(e.agent, e.action, e.realm.seldom())
	w.after(e.fate.back, func() { e.reply(err) })
}

// atRisk reports whether the disk may fail the errand. Records have faults of their own.
func (e *errand) atRisk() bool { return e.action.About().Place == node.OnMachine }

// reply returns the outcome, which may be an error although the effect came.
func (e *errand) reply(err error) {
	w := e.agent.world
	switch kind := e.fate.kind; {
	case err != nil || !e.atRisk():
	case kind == Fail:
		w.met.addf("%s fails after its effect", node.KindOf(e.action))
		err = refused("Failed", "%s: injected after the effect", e.action)
	case kind == Lose || kind == Late || kind == Hang:
		w.met.addf("%s has no answer", node.KindOf(e.action))
		w.after(e.fate.timeout, func() { e.answer(unknown(e.action)) })
		return
	}
	e.answer(err)
}

func (e *errand) answer(err error) {
	a := e.agent
	if a.dead || !slices.Contains(a.errands, e) {
		return
	}
	a.errands = slices.DeleteFunc(a.errands, func(o *errand) bool { return o == e })
	a.world.trace.addf("agent: %s answered: %v", e.action, err)
	a.loop.FinishAsset(e.t, reconciler.Outcome{Action: e.action, Err: err, Now: a.world.clock()})
	a.turn()
}

// Find looks at an asset and delivers the result later. The world moves on in between.
func (h hands) Find(t *reconciler.Tended, began node.Mark) {
	longest := 3 * time.Millisecond
	f := h.world.realmOf(t).chance()
	if f.strike(Stale) {
		longest = 3 * time.Second
	}
	s, blind, back := reconciler.AssetSighting{Began: began}, f.strike(Blind), f.between(0, longest)
	h.world.after(f.between(0, longest), func() {
		if h.dead {
			return
		}
		s.Look, s.Err = t.Look(context.Background(), t.Asset())
		if blind {
			s.Look, s.Err = nil, node.ErrUnavailable
		}
		h.world.after(back, func() { h.found(t, s) })
	})
}

// found delivers a look at an asset to the loop.
func (h hands) found(t *reconciler.Tended, s reconciler.AssetSighting) {
	if h.dead {
		return
	}
	h.world.trace.addf("agent: finds %s, begun at %d: %v %v", t.Asset().Key, s.Began, shown{s.Look}, s.Err)
	if h.bug == StaleSnapshot {
		s.Began = h.loop.Stamp()
	}
	h.loop.Found(t, s, h.world.clock())
	h.turn()
}

// shown prints what a look shows, without addresses of memory.
type shown struct{ look any }

func (s shown) String() string {
	text, err := json.Marshal(s.look)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// tends checks that an asset has one action at a time.
func (wi *witness) tends(a *agent, e *errand) {
	for _, o := range a.errands {
		if o != e && o.t.Asset().Key == e.t.Asset().Key && !o.done {
			wi.failf("%s begins while %s is under way", e.action, o.action)
		}
	}
}
