package server

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/status"
	"nodal/node/store"
)

// logWanted says whose log is asked for.
type logWanted struct {
	key       node.Key
	container string
	previous  bool
}

// loggedRun is the run whose log it is.
type loggedRun struct {
	key node.Key
	run node.Container
}

// find chooses the run: the newest that has begun, or the one before it. While
// a container waits for its next run, the last one's log is still its log; the
// previous run it is already, as in the status.
func (s *logService) find(wanted logWanted) (loggedRun, error) {
	view, err := find(s.store, wanted.key)
	if err != nil {
		return loggedRun{}, err
	}
	if !hasContainer(view.Slot.Pod.Object, wanted.container) {
		return loggedRun{}, fmt.Errorf("container %q in pod %s: %w", wanted.container, wanted.key, node.ErrNotFound)
	}
	state := status.Of(s.site, view.Slot, view.Got)
	waits, reason := waiting(state, wanted.container)
	begun := runs(view, wanted.container)
	if wanted.previous && len(begun) > 0 && !waits {
		begun = begun[1:]
	}
	switch {
	case len(begun) > 0:
		return loggedRun{wanted.key, begun[0]}, nil
	case wanted.previous:
		return loggedRun{}, fmt.Errorf("previous terminated container %q in pod %s: %w", wanted.container, wanted.key, node.ErrNotFound)
	}
	return loggedRun{}, fmt.Errorf("container %q in pod %s is waiting to start: %s: %w", wanted.container, wanted.key, reason, node.ErrNotReady)
}

func hasContainer(object *corev1.Pod, name string) bool {
	for c := range node.EveryContainer(&object.Spec) {
		if c.Name == name {
			return true
		}
	}
	return false
}

// runs are the container's runs that have begun, newest first.
func runs(view store.View, container string) []node.Container {
	var begun []node.Container
	if view.Got == nil {
		return nil
	}
	for _, c := range view.Got.Containers {
		started := c.State == node.ContainerRunning || c.State == node.ContainerExited
		if c.UID == view.Slot.Pod.UID() && c.Name == container && started {
			begun = append(begun, c)
		}
	}
	return begun
}

// waiting says whether a container waits for its next run, and for what.
func waiting(s corev1.PodStatus, container string) (waits bool, reason string) {
	for _, list := range [][]corev1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses, s.EphemeralContainerStatuses} {
		for i := range list {
			if w := list[i].State.Waiting; list[i].Name == container && w != nil {
				if w.Message != "" {
					return true, w.Reason + ": " + w.Message
				}
				return true, w.Reason
			}
		}
	}
	return false, "ContainerCreating"
}

// untilExit waits until the run is over, and says no if the request or the
// agent ends before.
func (s *logService) untilExit(ctx context.Context, of loggedRun) bool {
	for {
		changed := s.store.Changed()
		if !s.running(of) {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		case <-s.stopped:
			return false
		}
	}
}

func (s *logService) running(of loggedRun) bool {
	view, ok := s.store.View(of.key)
	if !ok {
		return false
	}
	for _, c := range view.Got.Containers {
		if c.ID == of.run.ID {
			return c.State == node.ContainerRunning
		}
	}
	return false
}
