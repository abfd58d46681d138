package reconciler

import (
	"nodal/node"
	"nodal/node/store"
	"nodal/reconciler/decide"
)

// order holds which pods start after which others. A pod that is named need not be there.
type order struct {
	after     map[node.Key][]node.Key        // by pod, those that have to be ready first
	followers map[node.Key]map[node.Key]bool // by pod, those that start after it
}

func newOrder() order {
	return order{after: map[node.Key][]node.Key{}, followers: map[node.Key]map[node.Key]bool{}}
}

// place notes what the pod of a slot starts after, and gives a turn to those that start after this one.
func (l *Loop) place(v store.View) {
	for _, before := range l.after[v.Key] {
		delete(l.followers[before], v.Key)
		if len(l.followers[before]) == 0 {
			delete(l.followers, before)
		}
	}
	delete(l.after, v.Key)
	l.rouse(v.Key)
	if v.Gone {
		return
	}
	keys, _ := node.Before(v.Slot.Pod.Object) // intake refuses what cannot be read
	for _, before := range keys {
		if l.followers[before] == nil {
			l.followers[before] = map[node.Key]bool{}
		}
		l.followers[before][v.Key] = true
	}
	if len(keys) > 0 {
		l.after[v.Key] = keys
	}
}

// rouse gives a turn to the pods that start after one of which there is news.
func (l *Loop) rouse(key node.Key) {
	for follower := range l.followers[key] {
		l.dirty[follower] = true
	}
}

// behind returns the pods for which a pod has to wait before its next sandbox is made.
func (l *Loop) behind(t *Tracked) []node.Unready {
	if len(l.after[t.Key]) == 0 {
		return nil
	}
	return decide.Behind(l.Site, t.Slot(), t.Got(), l.after[t.Key], func(key node.Key) (*node.Slot, *node.Observed) {
		if other, ok := l.tracks[key]; ok {
			return other.Slot(), other.Got()
		}
		return nil, nil
	})
}
