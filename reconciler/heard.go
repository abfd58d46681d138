package reconciler

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// hearing holds what the loop knows of the sources of pods.
type hearing struct {
	waiting map[node.Source]bool // sources that have not delivered; nil means that it is unknown
	claims  node.Claims          // of the cluster; nil means that it has posted all that it wants
	held    map[node.Key]bool    // pods that a source had not delivered when they had their last turn
	settled bool                 // since every source has delivered, the pods that none wants were recorded
}

// Await takes the sources that have not delivered yet, and what the cluster claims. Until all have delivered, nothing is
// removed as unwanted: another kubelet may have started it, or its record may be lost, and the last source may be the
// one that wants it.
func (l *Loop) Await(waiting map[node.Source]bool, claims node.Claims, now time.Time) {
	fewer := l.waiting == nil || !maps.Equal(l.waiting, waiting)
	l.waiting, l.claims = waiting, claims
	if fewer {
		l.adoptStrays(now)
		for key := range l.tracks {
			l.dirty[key] = true
		}
		l.tendAll()
	}
	for key := range l.held {
		if t, ok := l.tracks[key]; !ok || !l.unheard(t) {
			l.dirty[key] = true
			delete(l.held, key)
		}
	}
}

// hold reports whether a pod's source has not delivered it since the start, and notes it for Await.
func (l *Loop) hold(t *Tracked) bool {
	unheard := l.unheard(t)
	if unheard {
		l.held[t.Key] = true
	}
	return unheard
}

// wanted returns how to ask whether the cluster wants the other pods of a name, if there are any.
func (l *Loop) wanted(t *Tracked) node.Wants {
	if l.claims == nil || !t.Strangers() {
		return nil
	}
	return l.claims.Wants
}

// ready reports whether every source has delivered.
func (l *Loop) ready() bool { return l.waiting != nil && len(l.waiting) == 0 }

// Settled reports whether every pod that no source wants was recorded, to be torn down, since all sources have delivered.
func (l *Loop) Settled() bool { return l.settled }

// Kept returns how many pods run without a record although a source may yet want them, and for which sources they wait.
func (l *Loop) Kept() (pods int, waiting map[node.Source]bool) {
	if !l.synced || l.ready() {
		return 0, nil
	}
	return len(l.strays), l.waiting
}

// unheard reports whether the source of a pod has not said since the start what it wants of it.
func (l *Loop) unheard(t *Tracked) bool {
	pod := t.Slot().Pod
	switch source := pod.WantedBy(); {
	case l.waiting == nil || l.waiting[source]:
		return true
	case source == node.SourceCluster && l.claims != nil:
		return !l.claims.Delivered(pod.Key(), pod.UID())
	}
	return false
}

// mayAct reports whether a track may act. It waits with another pod of its name until the source that may want that one
// was heard. A static pod has its name whatever the cluster wants, and does not wait for it: it may be the API server.
func (l *Loop) mayAct(t *Tracked) bool {
	switch {
	case l.ready() || !t.Strangers():
		return true
	case l.waiting == nil || t.Slot().Pod.Source == node.SourceAPI:
		return false
	}
	return len(l.waiting) == 1 && l.waiting[node.SourceCluster]
}

// adoptStrays records pods that run without being wanted, once every source has delivered.
func (l *Loop) adoptStrays(now time.Time) {
	if !l.ready() || !l.synced {
		return
	}
	for _, key := range inOrder(l.strays) {
		if !l.wantsAny(l.strays[key]) {
			l.Hands.Adopted(key, l.Store.Adopt(key, l.strays[key], now))
		}
	}
	l.settled = true
}

// wantsAny reports whether the cluster wants a pod of which something was seen.
func (l *Loop) wantsAny(seen *node.Observed) bool {
	if l.claims == nil {
		return false
	}
	uids := map[types.UID]bool{}
	noteUIDs(uids, seen)
	for uid := range uids {
		if l.claims.Wants(uid, seen.Runs(uid)) {
			return true
		}
	}
	return false
}
