package store

import (
	"cmp"
	"slices"

	"nodal/node"
)

// Objects live beside the slots, under the same revisions and in the same
// transactions: a bundle of a pod and what it uses is taken as one.

func (s *Store) publishObject(ref node.ObjectRef, object *node.Object) {
	s.objectsAt = s.clock.Next()
	if family := ref.Family(); family != ref {
		s.families[family] = s.objectsAt
	}
	made := change[node.ObjectRef, *node.Object]{key: ref, revision: s.objectsAt}
	if object == nil {
		if made.value, made.gone = s.objects.get(ref); !made.gone {
			return
		}
	} else {
		published := *object
		published.Revision = s.objectsAt
		made.value = &published
	}
	s.objects.put(made)
}

// Object returns an object that pods use.
func (s *Store) Object(ref node.ObjectRef) (*node.Object, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.objects.get(ref)
}

// Objects returns all objects of a kind, sorted, and the revision they show.
func (s *Store) Objects(kind node.ObjectKind) ([]*node.Object, int64) { return s.ObjectsOf(kind) }

// ObjectsOf returns all objects of some kinds at one revision, sorted.
func (s *Store) ObjectsOf(kinds ...node.ObjectKind) ([]*node.Object, int64) {
	s.mu.RLock()
	var objects []*node.Object
	for ref, object := range s.objects.all() {
		if slices.Contains(kinds, ref.Kind) {
			objects = append(objects, object)
		}
	}
	revision := s.clock.Now()
	s.mu.RUnlock()
	slices.SortFunc(objects, func(a, b *node.Object) int {
		x, y := a.Ref(), b.Ref()
		return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name))
	})
	return objects, revision
}

// ObjectChange is the latest state of one object, or the last that it had.
type ObjectChange struct {
	Object   *node.Object
	Revision int64
	Gone     bool
}

// ObjectsSince returns which objects changed after a revision, the oldest change first,
// and the revision to ask from next time.
func (s *Store) ObjectsSince(revision int64) ([]ObjectChange, int64, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	now := s.clock.Now()
	found, err := s.objects.since(revision, now)
	if err != nil {
		return nil, 0, err
	}
	changes := make([]ObjectChange, len(found))
	for i, c := range found {
		changes[i] = ObjectChange{Object: c.value, Revision: c.revision, Gone: c.gone}
	}
	return changes, now, nil
}

// Revisions returns the revision of the last change to each object, and for a family that of its
// last changed member. Missing objects are left out.
func (s *Store) Revisions(refs []node.ObjectRef) map[node.ObjectRef]int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	revisions := map[node.ObjectRef]int64{}
	for _, ref := range refs {
		if object, ok := s.objects.get(ref); ok {
			revisions[ref] = object.Revision
		} else if at, ok := s.families[ref]; ok {
			revisions[ref] = at
		}
	}
	return revisions
}

// ObjectsChanged returns the revision of the last change to any object.
func (s *Store) ObjectsChanged() int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.objectsAt
}

// Object returns an object, or nil.
func (tx *Tx) Object(ref node.ObjectRef) *node.Object {
	if object, ok := tx.objects[ref]; ok {
		return object
	}
	object, _ := tx.store.Object(ref)
	return object
}

// Objects returns all objects of a kind, in no order.
func (tx *Tx) Objects(kind node.ObjectKind) []*node.Object {
	kept, _ := tx.store.Objects(kind)
	kept = slices.DeleteFunc(kept, func(o *node.Object) bool {
		_, rewritten := tx.objects[o.Ref()]
		return rewritten
	})
	for ref, object := range tx.objects {
		if ref.Kind == kind && object != nil {
			kept = append(kept, object)
		}
	}
	return kept
}

// PutObject replaces an object.
func (tx *Tx) PutObject(object *node.Object) { tx.writeObject(object.Ref(), object) }

// DropObject forgets an object.
func (tx *Tx) DropObject(ref node.ObjectRef) { tx.writeObject(ref, nil) }

func (tx *Tx) writeObject(ref node.ObjectRef, object *node.Object) {
	if _, ok := tx.objects[ref]; !ok {
		tx.refs = append(tx.refs, ref)
	}
	tx.objects[ref] = object
}
