package runs

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/status"
)

// Wanted names the container whose log is asked for.
type Wanted struct {
	Key       node.Key
	Container string
	Previous  bool // the run before the present one
}

// Logged is the run whose log is read.
type Logged struct {
	key node.Key
	run node.Container
}

// Find returns the newest run that has begun, or the one before it. While a container
// waits for its next run, the last one counts both as the present run and as the
// previous one, as in the status.
func (l Logs) Find(wanted Wanted) (Logged, error) {
	view, err := Pod(l.Pods, wanted.Key)
	if err != nil {
		return Logged{}, err
	}
	if Declared(view, wanted.Container) == nil {
		return Logged{}, fmt.Errorf("container %q in pod %s: %w", wanted.Container, wanted.Key, node.ErrNotFound)
	}
	waits, reason := waiting(status.Of(l.Site, view.Slot, view.Got), wanted.Container)
	all := begun(view, wanted.Container)
	if wanted.Previous && len(all) > 0 && !waits {
		all = all[1:]
	}
	switch {
	case len(all) > 0:
		return Logged{wanted.Key, all[0]}, nil
	case wanted.Previous:
		return Logged{}, fmt.Errorf("previous terminated container %q in pod %s: %w",
			wanted.Container, wanted.Key, node.ErrNotFound)
	}
	return Logged{}, fmt.Errorf("container %q in pod %s is waiting to start: %s: %w",
		wanted.Container, wanted.Key, reason, node.ErrNotReady)
}

// waiting reports whether a container waits for its next run, and why.
func waiting(s corev1.PodStatus, container string) (waits bool, reason string) {
	for _, list := range [][]corev1.ContainerStatus{
		s.InitContainerStatuses, s.ContainerStatuses, s.EphemeralContainerStatuses,
	} {
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
