package intake

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/storage"
	"nodal/node/store"
)

// DeleteRequest asks that a pod ends.
type DeleteRequest struct {
	Key   node.Key
	UID   types.UID      // only this pod, when set
	Grace *time.Duration // the pod's own period when nil
	Since *int64         // it must not have changed after this revision
}

// Delete starts a graceful deletion. Repeated, it only shortens the grace
// period; a pod that waits for the name is dropped.
func (in Intake) Delete(r DeleteRequest, now time.Time) (int64, error) {
	return in.Store.Transact(func(tx *store.Tx) error {
		if err := in.unchanged(r.Since, place{key: r.Key}); err != nil {
			return err
		}
		return in.deleteOne(tx, r, "deleted", now)
	})
}

// DeleteAll deletes the named pods in one transaction and returns those that
// were there. If a revision is given, none of them may have changed after it.
func (in Intake) DeleteAll(keys []node.Key, refs []node.ObjectRef, grace *time.Duration, since *int64, now time.Time) ([]Outcome, int64, error) {
	var outcomes []Outcome
	revision, err := in.Store.Transact(func(tx *store.Tx) error {
		for _, key := range keys {
			if err := in.unchanged(since, place{key: key}); err != nil {
				return err
			}
			slot := tx.Get(key)
			if slot == nil {
				continue
			}
			if err := in.deleteOne(tx, DeleteRequest{Key: key, Grace: grace}, "deleted", now); err != nil {
				return err
			}
			outcomes = append(outcomes, Outcome{Key: key, UID: slot.Pod.UID(), Verdict: Deleted})
		}
		for _, ref := range refs {
			if err := in.unchanged(since, place{ref: ref}); err != nil {
				return err
			}
			old := tx.Object(ref)
			ended, err := in.endObject(tx, ref, "", now)
			if err != nil {
				return err
			}
			if ended {
				outcomes = append(outcomes, Outcome{Object: ref, UID: old.Meta().UID, Verdict: Deleted})
			}
		}
		if slices.ContainsFunc(refs, ofStorage) {
			in.Storage.SettleIn(tx, now)
		}
		return nil
	})
	return outcomes, revision, err
}

func (in Intake) deleteOne(tx *store.Tx, r DeleteRequest, reason string, now time.Time) error {
	slot := tx.Get(r.Key)
	if slot == nil {
		return fmt.Errorf("pod %s: %w", r.Key, node.ErrNotFound)
	}
	// Any source may hurry a pod that ends already: its own has let go of it.
	if owner := heir(slot); owner.Source != in.Source && owner.Deletion == nil && in.has(owner.Source) {
		return fmt.Errorf("pod %s belongs to source %s: remove it from %s: %w", r.Key, owner.Source, owner.Origin, node.ErrConflict)
	}
	next := *slot
	switch {
	case r.UID == "":
		next.Next, next.Pod = nil, ended(slot, r.Grace, reason, now)
	case r.UID == slot.Pod.UID():
		// The request means this pod, not the one that waits for its name.
		next.Pod = ended(slot, r.Grace, reason, now)
	case slot.Next != nil && r.UID == slot.Next.UID():
		next.Next = nil
	default:
		return fmt.Errorf("pod %s has uid %s, not %s: %w", r.Key, slot.Pod.UID(), r.UID, node.ErrConflict)
	}
	if next.Pod != slot.Pod || next.Next != slot.Next {
		tx.Reserved()
		tx.Put(r.Key, &next)
	}
	if slot.Next != nil && next.Next == nil && storage.Uses(slot.Next.Object) {
		in.Storage.SettleIn(tx, now) // it no longer holds its claims
	}
	return nil
}

// has reports whether a source is still configured. Pods of a removed source may be deleted by
// any other.
func (in Intake) has(source node.Source) bool {
	_, there := in.Sources[source]
	return there || in.Sources == nil
}

// ended returns the pod of a slot with its deletion begun, or brought forward. An end that is due sooner stays as it is:
// that of an earlier deletion, or of a pod that the node ends.
func ended(slot *node.Slot, grace *time.Duration, reason string, now time.Time) *node.Pod {
	pod := slot.Pod
	deletion := node.Deletion{Requested: now, Grace: node.GracePeriod(pod.Object), Reason: reason}
	if grace != nil {
		deletion.Grace = *grace
	}
	if t := slot.Termination; t != nil {
		deletion.Grace = min(deletion.Grace, max(0, t.Deadline(pod).Sub(now)))
	}
	if old := pod.Deletion; old != nil {
		if !deletion.Deadline().Before(old.Deadline()) {
			return pod
		}
		deletion.Reason = old.Reason
	}
	going := *pod
	going.Deletion = &deletion
	return &going
}
