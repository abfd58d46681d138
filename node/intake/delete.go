package intake

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// DeleteRequest asks that a pod ends.
type DeleteRequest struct {
	Key   node.Key
	UID   types.UID      // only this pod, when set
	Grace *time.Duration // the pod's own period when nil
}

// Delete starts a graceful deletion. Repeated, it only shortens the grace
// period; a pod that waits for the name is dropped.
func (in Intake) Delete(r DeleteRequest, now time.Time) (int64, error) {
	return in.Store.Transact(func(tx *node.Tx) error { return in.deleteOne(tx, r, "deleted", now) })
}

// DeleteAll deletes the named pods in one transaction and returns those that
// were there.
func (in Intake) DeleteAll(keys []node.Key, grace *time.Duration, now time.Time) ([]Outcome, int64, error) {
	var outcomes []Outcome
	revision, err := in.Store.Transact(func(tx *node.Tx) error {
		for _, key := range keys {
			slot := tx.Get(key)
			if slot == nil {
				continue
			}
			if err := in.deleteOne(tx, DeleteRequest{Key: key, Grace: grace}, "deleted", now); err != nil {
				return err
			}
			outcomes = append(outcomes, Outcome{Key: key, UID: slot.Pod.UID(), Verdict: Deleted})
		}
		return nil
	})
	return outcomes, revision, err
}

func (in Intake) deleteOne(tx *node.Tx, r DeleteRequest, reason string, now time.Time) error {
	slot := tx.Get(r.Key)
	if slot == nil {
		return fmt.Errorf("pod %s: %w", r.Key, node.ErrNotFound)
	}
	if owner := heir(slot); owner.Source != in.Source && owner.Source != node.SourceRuntime {
		return fmt.Errorf("pod %s belongs to source %s: remove it from %s: %w", r.Key, owner.Source, owner.Origin, node.ErrConflict)
	}
	if r.UID != "" && r.UID != slot.Pod.UID() {
		return fmt.Errorf("pod %s has uid %s, not %s: %w", r.Key, slot.Pod.UID(), r.UID, node.ErrConflict)
	}
	grace := node.GracePeriod(slot.Pod.Object)
	if r.Grace != nil {
		grace = *r.Grace
	}
	next := *slot
	next.Next = nil
	next.Pod = withDeletion(slot.Pod, shorten(slot.Pod.Deletion, &node.Deletion{Requested: now, Grace: grace, Reason: reason}))
	if *next.Pod.Deletion == deref(slot.Pod.Deletion) && slot.Next == nil {
		return nil
	}
	tx.Reserved()
	tx.Put(r.Key, &next)
	return nil
}

// shorten keeps whichever deletion ends sooner.
func shorten(old, asked *node.Deletion) *node.Deletion {
	if old != nil && !asked.Deadline().Before(old.Deadline()) {
		return old
	}
	if old != nil {
		asked.Reason = old.Reason
	}
	return asked
}

func deref(d *node.Deletion) node.Deletion {
	if d == nil {
		return node.Deletion{}
	}
	return *d
}

// Restart asks that the named container, or every container of the pod, ends
// its present run and starts anew.
func (in Intake) Restart(key node.Key, container string, now time.Time) error {
	view, ok := in.Store.View(key)
	if !ok {
		return fmt.Errorf("pod %s: %w", key, node.ErrNotFound)
	}
	_, err := in.Store.Transact(func(tx *node.Tx) error {
		slot := tx.Get(key)
		switch {
		case slot == nil:
			return fmt.Errorf("pod %s: %w", key, node.ErrNotFound)
		case slot.Pod.Deletion != nil:
			return fmt.Errorf("restart pod %s: it is being deleted: %w", key, node.ErrConflict)
		case slot.Result != nil:
			return fmt.Errorf("restart pod %s: it has finished (%s): %w", key, slot.Result.Phase, node.ErrConflict)
		}
		asked := map[string]node.Restart{}
		for _, r := range slot.Pod.Restarts {
			asked[r.Container] = r
		}
		found := container == ""
		for _, c := range slot.Pod.Object.Spec.Containers {
			if container != "" && c.Name != container {
				continue
			}
			found = true
			if run := view.Got.Newest(slot.Pod.UID(), c.Name); run != nil {
				asked[c.Name] = node.Restart{Container: c.Name, Attempt: run.Attempt}
			}
		}
		if !found {
			return fmt.Errorf("pod %s has no container %q: %w", key, container, node.ErrNotFound)
		}
		pod := *slot.Pod
		pod.Restarts = slices.SortedFunc(maps.Values(asked), func(a, b node.Restart) int {
			if a.Container < b.Container {
				return -1
			}
			return 1
		})
		next := *slot
		next.Pod = &pod
		tx.Put(key, &next)
		return nil
	})
	return err
}
