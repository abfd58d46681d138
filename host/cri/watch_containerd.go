package cri

import (
	"context"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/host/cri/containerd"
	"nodal/node"
)

// watchContainerd listens to containerd's own events: before 1.7 it has none in CRI.
func (r *Runtime) watchContainerd(ctx context.Context, wake func(node.Key), relist func()) error {
	next, err := r.events.Subscribe(ctx)
	if err != nil {
		return err
	}
	if err := r.listening(ctx); err != nil {
		return err
	}
	relist()
	for {
		event, err := next()
		if err != nil {
			return err
		}
		r.hear(ctx, event, wake, relist)
	}
}

// hear passes an event on once CRI shows its effect.
func (r *Runtime) hear(ctx context.Context, event containerd.Event, wake func(node.Key), relist func()) {
	switch {
	case event.What != containerd.Exited:
		r.tell(event, wake, relist)
	case event.Process == event.Container: // else a command that was run in it has ended
		go func() {
			if r.exitKnown(ctx, event.Container) {
				r.tell(event, wake, relist)
			}
		}()
	}
}

// Pauses between looks for an exit double from the first to the longest.
const (
	exitFirstPause   = 2 * time.Millisecond
	exitLongestPause = 2 * time.Second
)

// exitKnown waits until CRI knows of an exit too. Containerd tells its own CRI plugin by the same event that it sends
// us, so an immediate look may still show the container running, and no second event would follow. On a busy machine
// the wait has no bound.
func (r *Runtime) exitKnown(ctx context.Context, id string) bool {
	for pause := exitFirstPause; !r.ended(ctx, id); pause = min(2*pause, exitLongestPause) {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(pause):
		}
	}
	return true
}

// ended reports whether CRI shows a container, or else a sandbox, as ended or gone. A container that exits at once may
// be shown as created first, and then as running.
func (r *Runtime) ended(ctx context.Context, id string) bool {
	container, err := r.runtime.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: id})
	if !missing(err) {
		return err != nil || container.GetStatus().GetState() == runtimeapi.ContainerState_CONTAINER_EXITED
	}
	sandbox, err := r.runtime.PodSandboxStatus(ctx, &runtimeapi.PodSandboxStatusRequest{PodSandboxId: id})
	return err != nil || sandbox.GetStatus().GetState() == runtimeapi.PodSandboxState_SANDBOX_NOTREADY
}

func (r *Runtime) tell(event containerd.Event, wake func(node.Key), relist func()) {
	key, known := r.keys.find(event.Container)
	switch {
	case known:
		wake(key)
	case event.What != containerd.Deleted: // a container that no list has shown is not missed
		relist()
	}
}
