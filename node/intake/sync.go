package intake

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"nodal/node"
	"nodal/node/store"
)

// Sync makes the source's pods those that it now delivers. Each is applied on its own, and those
// that the source no longer has are deleted. Pods of the origins in keep, which could not be read,
// stay. Errors come back by origin; the pods that they concern stay as they were.
func (in Intake) Sync(deliveries []Delivery, keep map[string]bool, now time.Time) map[string]error {
	problems := map[string]error{}
	fail := func(origin string, err error) { problems[origin] = errors.Join(problems[origin], err) }
	delivered := map[node.Key]bool{}
	for _, d := range deliveries {
		delivered[node.KeyOf(d.Pod)] = true
	}
	// A pod that goes makes room for a new one before others have to.
	views, _ := in.Store.Views()
	for _, v := range views {
		held := in.held(v.Key)
		if delivered[v.Key] || held == nil || keep[held.Origin] {
			continue
		}
		if _, err := in.Store.Transact(func(tx *store.Tx) error {
			return in.deleteOne(tx, DeleteRequest{Key: v.Key}, "removed from its source", now)
		}); err != nil {
			fail(held.Origin, err)
		}
	}
	wanted := map[node.Key]string{} // the origin that delivers it
	for _, d := range in.holdersFirst(deliveries) {
		key := node.KeyOf(d.Pod)
		if other, ok := wanted[key]; ok {
			fail(d.Origin, fmt.Errorf("pod %s is delivered by %s already: %w", key, other, node.ErrConflict))
			continue
		}
		wanted[key] = d.Origin
		if held := in.held(key); held != nil && held.Origin != d.Origin && keep[held.Origin] {
			fail(d.Origin, fmt.Errorf("pod %s belongs to %s: %w", key, held.Origin, node.ErrConflict))
			continue
		}
		if _, _, err := in.Apply([]Delivery{d}, now); err != nil {
			fail(d.Origin, err)
		}
	}
	return problems
}

// held returns this source's pod at the key, or nil if there is none that stays.
func (in Intake) held(key node.Key) *node.Pod {
	view, ok := in.Store.View(key)
	if !ok {
		return nil
	}
	if owner := heir(view.Slot); owner.Source == in.Source && owner.Deletion == nil {
		return owner
	}
	return nil
}

// holdersFirst puts the origin that holds a pod before another origin that claims its name,
// whatever the order of their names.
func (in Intake) holdersFirst(deliveries []Delivery) []Delivery {
	var holders, others []Delivery
	for _, d := range deliveries {
		if held := in.held(node.KeyOf(d.Pod)); held != nil && held.Origin == d.Origin {
			holders = append(holders, d)
		} else {
			others = append(others, d)
		}
	}
	return slices.Concat(holders, others)
}
