package intake

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"nodal/node"
	"nodal/node/store"
)

// Sync makes the source's pods and objects those that it now delivers. Each is applied on its own, objects before the pods
// that may need them, and those that the source no longer has are deleted. What came from the origins in keep, which could
// not be read, stays, and claims and volumes stay while there is such an origin and for some time after (Missing). Errors
// come back by origin; what they concern stays as it was.
func (in Intake) Sync(deliveries []Delivery, keep map[string]bool, now time.Time) map[string]error {
	wrong := problems{}
	in.prune(deliveries, keep, wrong, now)
	wanted := map[place]string{} // the origin that delivers it
	for _, d := range in.inOrder(deliveries) {
		at := d.place()
		if other, ok := wanted[at]; ok {
			wrong.add(d.Origin, fmt.Errorf("%s is delivered by %s already: %w", at, other, node.ErrConflict))
			continue
		}
		wanted[at] = d.Origin
		if holder, held := in.held(at); held && holder != d.Origin && keep[holder] {
			wrong.add(d.Origin, fmt.Errorf("%s belongs to %s: %w", at, holder, node.ErrConflict))
			continue
		}
		if _, _, err := in.Apply([]Delivery{d}, now); err != nil {
			wrong.add(d.Origin, err)
		}
	}
	return wrong
}

// problems are errors by origin.
type problems map[string]error

func (p problems) add(origin string, err error) { p[origin] = errors.Join(p[origin], err) }

// prune deletes what the source no longer delivers: pods first, as one that goes makes room for a new one before others
// have to.
func (in Intake) prune(deliveries []Delivery, keep map[string]bool, wrong problems, now time.Time) {
	delivered := map[place]bool{}
	for _, d := range deliveries {
		delivered[d.place()] = true
	}
	in.Missing.found(delivered)
	whole := len(keep) == 0
	if !whole {
		in.Missing.Forget()
	}
	for at, origin := range in.holds() {
		if delivered[at] || keep[origin] {
			continue
		}
		err := in.Missing.stays(at.ref, whole, now)
		if err == nil {
			err = in.end(at, now)
		}
		if err != nil {
			wrong.add(origin, err)
		}
	}
}

// holds visits what this source has brought and what stays, with its origin: pods, then objects.
func (in Intake) holds() func(yield func(place, string) bool) {
	return func(yield func(place, string) bool) {
		var all []place
		views, _ := in.Store.Views()
		for _, v := range views {
			all = append(all, place{key: v.Key})
		}
		for _, kind := range node.Kinds() {
			objects, _ := in.Store.Objects(kind.Name)
			for _, o := range objects {
				all = append(all, place{ref: o.Ref()})
			}
		}
		for _, at := range all {
			if origin, held := in.held(at); held && !yield(at, origin) {
				return
			}
		}
	}
}

// held returns the origin of what this source has at a place, and false if it has nothing there that stays.
func (in Intake) held(at place) (origin string, held bool) {
	if object, ok := in.Store.Object(at.ref); ok {
		stays := object.Locked == nil && object.Owner() == in.Source && object.Meta().DeletionTimestamp == nil
		return object.Origin, stays
	}
	view, ok := in.Store.View(at.key)
	if !ok {
		return "", false
	}
	owner := heir(view.Slot)
	return owner.Origin, owner.Source == in.Source && owner.Deletion == nil
}

func (in Intake) end(at place, now time.Time) error {
	if at.ref != (node.ObjectRef{}) {
		return in.DeleteObject(at.ref, now)
	}
	_, err := in.Store.Transact(func(tx *store.Tx) error {
		return in.deleteOne(tx, DeleteRequest{Key: at.key}, "removed from its source", now)
	})
	return err
}

// inOrder puts objects before pods, and the origin that holds a name before another one that claims it, whatever the
// order of the origins.
func (in Intake) inOrder(deliveries []Delivery) []Delivery {
	var ranks [4][]Delivery
	for _, d := range deliveries {
		rank := 0
		if d.Object == nil {
			rank = 2
		}
		if holder, held := in.held(d.place()); !held || holder != d.Origin {
			rank++
		}
		ranks[rank] = append(ranks[rank], d)
	}
	return slices.Concat(ranks[:]...)
}

// Origins returns the files or URLs from which this source has brought what is there.
func (in Intake) Origins() map[string]bool {
	origins := map[string]bool{}
	for _, origin := range in.holds() {
		origins[origin] = true
	}
	return origins
}

// Unsure reports whether an object cannot be read now, so that its source is not known. It may have to be pruned once it
// can be read.
func (in Intake) Unsure() bool {
	for _, kind := range node.Kinds() {
		objects, _ := in.Store.Objects(kind.Name)
		if slices.ContainsFunc(objects, func(o *node.Object) bool { return o.Locked != nil && !errors.Is(o.Locked, node.ErrLost) }) {
			return true
		}
	}
	return false
}
