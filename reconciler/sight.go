package reconciler

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/store"
)

// contact is the state of the loop's connection to the runtime.
type contact struct {
	synced bool                        // a full look has succeeded since it was last lost
	away   bool                        // it does not answer, and that was reported
	whole  node.Mark                   // of the newest full look
	strays map[node.Key]*node.Observed // seen there, not in the store
	freed  map[node.Key]node.Mark      // when keys were released, until a full look that began later
}

// Sighting is the result of a look at the runtime, at one pod or at all.
type Sighting struct {
	Only  *node.Key
	Began node.Mark
	All   map[node.Key]*node.Observed
	Err   error
}

// Synced reports whether a full look has succeeded since the runtime was last lost.
func (l *Loop) Synced() bool { return l.synced }

// Looked reports whether there was a full look at the runtime, successful or not.
func (l *Loop) Looked() bool { return l.synced || l.away }

// LookAll begins a look at the whole runtime, and at all assets.
func (l *Loop) LookAll() {
	l.look(nil)
	l.findAll()
}

func (l *Loop) look(only *node.Key) { l.Hands.Look(only, l.Stamp()) }

// See takes the result of a look.
func (l *Loop) See(s Sighting, now time.Time) {
	switch {
	case s.Only != nil:
		l.seeOne(s, now)
	case s.Err != nil:
		l.lost(s.Err)
	default:
		l.seeAll(s, now)
	}
}

func (l *Loop) seeOne(s Sighting, now time.Time) {
	t, ok := l.tracks[*s.Only]
	if !ok {
		return
	}
	t.observing = false
	l.dirty[t.Key] = true
	if s.Err != nil {
		l.lost(s.Err)
		return
	}
	t.See(observedOr(s.All, t.Key), s.Began, now)
}

// lost notes that the runtime does not answer. Nothing is decided until a full look succeeds.
func (l *Loop) lost(err error) {
	news := !l.away
	l.synced, l.away = false, true
	l.Hands.Lost(err, news)
}

func (l *Loop) seeAll(s Sighting, now time.Time) {
	if s.Began < l.whole {
		return // a later look was quicker
	}
	l.whole = s.Began
	regained := !l.synced
	l.synced, l.away = true, false
	if regained {
		l.Hands.Regained(len(s.All))
	}
	l.Store.Saw(running(s.All))
	for key, t := range l.tracks {
		seen := observedOr(s.All, key)
		delete(s.All, key)
		if regained {
			t.Retry()
			t.Doubt(0)
			l.dirty[key] = true
		}
		if t.unsure || t.Differs(seen) {
			if !t.See(seen, s.Began, now) {
				t.Doubt(0) // the look may have shown news: look again once our own effect is over
			}
			l.dirty[key] = true
		}
	}
	l.strays = s.All
	l.forgetFreed(s.Began)
	l.adoptStrays(now)
}

// running returns the pods that run, by their names.
func running(all map[node.Key]*node.Observed) store.Running {
	found := store.Running{}
	for key, seen := range all {
		uids := map[types.UID]bool{}
		noteUIDs(uids, seen)
		for uid := range uids {
			if !seen.Runs(uid) {
				continue
			}
			if found[key] == nil {
				found[key] = map[types.UID]time.Time{}
			}
			found[key][uid] = seen.Since(uid)
		}
	}
	return found
}

// forgetFreed removes from the strays the pods that were released after the look had begun.
func (l *Loop) forgetFreed(began node.Mark) {
	for key, at := range l.freed {
		if at > began {
			delete(l.strays, key)
		} else {
			delete(l.freed, key)
		}
	}
}

// Wake takes an event of the runtime: something happened to a pod.
func (l *Loop) Wake(key node.Key) {
	t, ok := l.tracks[key]
	if !ok {
		l.Hands.Relist()
		return
	}
	t.Doubt(l.Stamp())
	l.dirty[key] = true
}

func observedOr(all map[node.Key]*node.Observed, key node.Key) *node.Observed {
	if o, ok := all[key]; ok {
		return o
	}
	return &node.Observed{}
}
