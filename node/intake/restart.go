package intake

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/store"
)

// RestartRequest asks that containers of a pod end their present runs and start again.
type RestartRequest struct {
	Key       node.Key
	UID       types.UID // only this pod, when set
	Container string    // every one, when empty
}

// Restart makes the containers end within their grace period and start again.
func (in Intake) Restart(r RestartRequest) error {
	view, ok := in.Store.View(r.Key)
	if !ok {
		return fmt.Errorf("pod %s: %w", r.Key, node.ErrNotFound)
	}
	_, err := in.Store.Transact(func(tx *store.Tx) error {
		slot := tx.Get(r.Key)
		switch {
		case slot == nil:
			return fmt.Errorf("pod %s: %w", r.Key, node.ErrNotFound)
		case r.UID != "" && r.UID != slot.Pod.UID():
			return fmt.Errorf("pod %s has uid %s, not %s: %w", r.Key, slot.Pod.UID(), r.UID, node.ErrConflict)
		case slot.Pod.Deletion != nil:
			return fmt.Errorf("restart pod %s: it is being deleted: %w", r.Key, node.ErrConflict)
		case slot.Result != nil:
			return fmt.Errorf("restart pod %s: it has finished (%s): %w", r.Key, slot.Result.Phase, node.ErrConflict)
		case slot.Termination != nil:
			return fmt.Errorf("restart pod %s: it is ending (%s): %w", r.Key, slot.Termination.Reason, node.ErrConflict)
		}
		restarts, err := restarts(slot.Pod, view.Got, r.Container)
		if err != nil {
			return err
		}
		pod := *slot.Pod
		pod.Restarts = restarts
		next := *slot
		next.Pod = &pod
		tx.Put(r.Key, &next)
		return nil
	})
	return err
}

// restarts lists the restarts that are asked for, with the present runs of the named container
// or of all, sidecars included. A container that does not run yet has nothing to restart, and
// an init container that runs once cannot be restarted.
func restarts(pod *node.Pod, got *node.Observed, container string) ([]node.Restart, error) {
	var more []node.Restart
	found := container == ""
	for c := range node.Containers(&pod.Object.Spec) {
		runsOnce := node.InitContainer(&pod.Object.Spec, c.Name) != nil && !node.IsSidecar(c)
		if container != "" && c.Name != container || runsOnce {
			continue
		}
		found = true
		if run := got.Newest(pod.UID(), c.Name); run != nil {
			more = append(more, node.Restart{Container: c.Name, Attempt: run.Attempt})
		}
	}
	if !found {
		return nil, fmt.Errorf("pod %s has no container %q: %w", pod.Key(), container, node.ErrNotFound)
	}
	return node.MergeRestarts(pod.Restarts, more), nil
}
