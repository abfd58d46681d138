package reconciler

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/storage"
	"nodal/node/store"
)

// reclaimRetry is how soon files that could not be removed are tried again.
const reclaimRetry = time.Minute

// reclaimer gives back what volumes hold whose claims were deleted. A million files
// take their time, so it works beside the loop.
type reclaimer struct {
	seen int64 // revision of the objects that were looked at
	busy bool
	done chan struct{}
}

// reclaim looks for volumes that have to go.
func (r *Reconciler) reclaim(ctx context.Context) {
	changed := r.Act.Store.ObjectsChanged()
	if r.reclaimer.busy || changed == r.reclaimer.seen {
		return
	}
	r.reclaimer.seen = changed
	volumes, _ := r.Act.Store.Objects(node.PersistentVolume)
	var doomed []*corev1.PersistentVolume
	for _, o := range volumes {
		if storage.Doomed(o.Volume()) {
			doomed = append(doomed, o.Volume())
		}
	}
	if len(doomed) == 0 {
		return
	}
	r.reclaimer.busy = true
	go func() {
		if !r.giveBack(ctx, doomed) {
			sleep(ctx, reclaimRetry)
		}
		select {
		case r.reclaimer.done <- struct{}{}:
		case <-ctx.Done():
		}
	}()
}

// reclaimed has the loop look again: more may have to go by now, and what failed is
// still there.
func (r *Reconciler) reclaimed() { r.reclaimer.busy, r.reclaimer.seen = false, 0 }

// giveBack goes on after a failure: the next volume may go.
func (r *Reconciler) giveBack(ctx context.Context, volumes []*corev1.PersistentVolume) (all bool) {
	all = true
	for _, v := range volumes {
		err := r.Act.GiveBack(ctx, v)
		if err == nil || ctx.Err() != nil {
			continue
		}
		all = false
		r.Log.Warn("cannot reclaim a volume", "volume", v.Name, "err", err)
		r.Events.Add(node.Event{Time: r.Act.Clock(), Warning: true, Reason: node.VolumeFailedDelete, Message: err.Error()})
	}
	return all
}

// GiveBack removes the files of a volume, and forgets it once they are gone, never
// before.
func (a Act) GiveBack(ctx context.Context, v *corev1.PersistentVolume) error {
	if err := a.Volumes.Reclaim(ctx, v); err != nil {
		return err
	}
	_, err := a.Store.Transact(func(tx *store.Tx) error {
		ref := (node.NewObject(v)).Ref()
		if held := tx.Object(ref); held != nil && held.Volume().UID == v.UID {
			tx.Reserved()
			tx.DropObject(ref)
		}
		return nil
	})
	return err
}
