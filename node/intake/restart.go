package intake

import (
	"fmt"

	"nodal/node"
)

// Restart asks that the named container, or every container of the pod, ends
// its present run and starts anew.
func (in Intake) Restart(key node.Key, container string) error {
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
		case slot.Termination != nil:
			return fmt.Errorf("restart pod %s: it is ending (%s): %w", key, slot.Termination.Reason, node.ErrConflict)
		}
		restarts, err := restarts(slot.Pod, view.Got, container)
		if err != nil {
			return err
		}
		pod := *slot.Pod
		pod.Restarts = restarts
		next := *slot
		next.Pod = &pod
		tx.Put(key, &next)
		return nil
	})
	return err
}

// restarts is what is asked of the pod, with the present runs of the named
// container or of all, sidecars included. A container that does not run yet has
// nothing to restart, and an init container that runs once cannot be restarted.
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
