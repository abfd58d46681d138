package runs

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/status"
)

// Wanted names the container whose log is asked for.
type Wanted struct {
	Key       node.Key
	Container string
	Previous  bool // the run before the present one

	UID     types.UID // of a pod that may be deleted; empty means the present one
	Attempt *uint32   // the run; nil means the newest
	Kept    bool      // only what was set apart
}

// Logged is the run whose log is read.
type Logged struct {
	key  node.Key
	run  node.Container
	kept bool
}

// Find returns the run whose log is asked for.
func (l Logs) Find(wanted Wanted) (Logged, error) {
	if wanted.UID != "" || wanted.Attempt != nil || wanted.Kept {
		return l.findRun(wanted)
	}
	return l.findPresent(wanted)
}

// findPresent returns the newest run that has begun, or the one before it. While a container
// waits for its next run, the last one counts both as the present run and as the
// previous one, as in the status.
func (l Logs) findPresent(wanted Wanted) (Logged, error) {
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
		return Logged{key: wanted.Key, run: all[0]}, nil
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
