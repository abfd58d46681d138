package sim

import (
	"fmt"
	"strings"
	"time"

	"nodal/node"
)

const (
	relistEvery = time.Second
	reconnect   = 50 * time.Millisecond
)

// poll asks for a full look every second, as where the runtime tells nothing.
func (a *agent) poll() {
	if a.dead {
		return
	}
	a.relist()
	a.world.after(relistEvery, a.poll)
}

// relist begins a full look.
func (a *agent) relist() {
	if !a.dead {
		a.look(nil)
	}
}

// sighting is what a look showed, and the mark from its beginning.
type sighting struct {
	only *node.Key
	mark node.Mark
	all  map[node.Key]*node.Observed
	err  error
}

// look asks for the sandboxes, then for the containers, and hears of both
// later. In between the world goes on.
func (a *agent) look(only *node.Key) {
	a.mark++
	s := sighting{only: only, mark: a.mark}
	f := a.faults
	var steps [3]time.Duration
	longest := [3]time.Duration{3 * time.Millisecond, 3 * time.Millisecond, 3 * time.Millisecond}
	if f.strike(Stale) {
		longest = [3]time.Duration{time.Second, time.Second, 3 * time.Second}
	}
	for i := range steps {
		steps[i] = f.between(0, longest[i])
	}
	blind := f.strike(Blind)
	a.world.after(steps[0], func() {
		down := a.world.down
		s.all = a.world.listSandboxes(only)
		a.world.after(steps[1], func() {
			a.world.listContainers(only, s.all)
			if blind || down || a.world.down {
				s.err = node.ErrUnavailable
			}
			a.world.after(steps[2], func() {
				a.sight(s)
				a.turn()
			})
		})
	})
}

func (a *agent) sight(s sighting) {
	switch {
	case a.dead:
	case s.only != nil:
		a.sightOne(s)
	case s.err != nil:
		a.lost()
	default:
		a.sightAll(s)
	}
}

func (a *agent) sightOne(s sighting) {
	t, ok := a.tracks[*s.only]
	if !ok {
		return
	}
	t.observing = false
	a.dirty[t.key] = true
	if s.err != nil {
		a.lost()
		return
	}
	a.see(t, observedOr(s.all, t.key), s.mark)
}

func (a *agent) see(t *tracked, seen *node.Observed, mark node.Mark) (taken bool) {
	mark = a.stamp(mark)
	taken = t.See(seen, mark, a.world.clock())
	if taken {
		t.unsure = mark <= t.doubt
	}
	a.world.trace.addf("agent: sees %s, begun at %d, taken: %v: %s", t.key, mark, taken, outline{seen})
	return taken
}

// mistrust asks for a look that began after the mark.
func (t *tracked) mistrust(at node.Mark) {
	t.Doubt(at)
	t.unsure, t.doubt = true, max(t.doubt, at)
}

// stamp is where the bug that the invariants must catch is planted: an old
// look that passes for a new one.
func (a *agent) stamp(mark node.Mark) node.Mark {
	if a.bug == StaleSnapshot {
		a.mark++
		return a.mark
	}
	return mark
}

func (a *agent) lost() {
	a.synced = false
	a.world.trace.addf("agent: the runtime does not answer")
	a.retries++
	last := a.retries
	a.world.after(reconnect, func() {
		if a.retries == last {
			a.relist()
		}
	})
}

func (a *agent) sightAll(s sighting) {
	if s.mark < a.whole {
		return
	}
	a.whole = s.mark
	regained := !a.synced
	a.synced = true
	for _, key := range a.trackKeys() {
		t := a.tracks[key]
		seen := observedOr(s.all, key)
		delete(s.all, key)
		if regained {
			t.Retry()
			t.mistrust(0)
			a.dirty[key] = true
		}
		if t.unsure || t.Differs(seen) {
			if !a.see(t, seen, s.mark) {
				t.mistrust(0)
			}
			a.dirty[key] = true
		}
	}
	a.strays = s.all
	for key, at := range a.freed {
		if at > s.mark {
			delete(a.strays, key)
		} else {
			delete(a.freed, key)
		}
	}
	a.adoptStrays()
}

func (a *agent) adoptStrays() {
	if !a.ready && a.bug != SweepEarly {
		return
	}
	for _, key := range sortedKeys(a.strays) {
		err := a.store.Adopt(key, a.strays[key], a.world.clock())
		a.world.trace.addf("agent: adopts %s: %v", key, err)
	}
}

// wake is a runtime's event.
func (a *agent) wake(key node.Key) {
	switch t, ok := a.tracks[key]; {
	case a.dead:
		return
	case ok:
		a.mark++
		if a.bug == MissWakes {
			t.mistrust(0)
		} else {
			t.mistrust(a.mark)
		}
		a.dirty[key] = true
	default:
		a.relist()
	}
	a.turn()
}

// deliver says that every source has told what it has.
func (a *agent) deliver() {
	a.ready = true
	a.adoptStrays()
	for key := range a.tracks {
		a.dirty[key] = true
	}
}

// outline is an observation in a few words.
type outline struct{ *node.Observed }

func (o outline) String() string {
	var b strings.Builder
	for _, s := range o.Sandboxes {
		fmt.Fprintf(&b, "%s/%d ", s.ID, s.State)
	}
	for _, c := range o.Containers {
		fmt.Fprintf(&b, "%s=%s/%d %s ", c.ID, c.Name, c.Attempt, c.State)
	}
	return b.String()
}

func observedOr(all map[node.Key]*node.Observed, key node.Key) *node.Observed {
	if o, ok := all[key]; ok {
		return o
	}
	return &node.Observed{}
}
