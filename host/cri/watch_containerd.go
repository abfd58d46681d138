package cri

import (
	"context"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/host/cri/containerd"
)

// followContainerd listens to containerd's own events: before 1.7 it has none in CRI.
func (w watch) followContainerd(ctx context.Context) error {
	next, err := w.events.Subscribe(ctx)
	if err != nil {
		return err
	}
	if err := w.listening(ctx); err != nil {
		return err
	}
	w.relist()
	for {
		event, err := next()
		if err != nil {
			return err
		}
		w.hear(ctx, event)
	}
}

// hear passes an event on once CRI shows its effect.
func (w watch) hear(ctx context.Context, event containerd.Event) {
	switch {
	case event.What != containerd.Exited:
		w.tell(event)
	case event.Process == event.Container: // else a command that was run in it has ended
		go func() {
			if w.exitKnown(ctx, event.Container) {
				w.tell(event)
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
func (w watch) exitKnown(ctx context.Context, id string) bool {
	for pause := exitFirstPause; !w.ended(ctx, id); pause = min(2*pause, exitLongestPause) {
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
func (w watch) ended(ctx context.Context, id string) bool {
	container, err := w.runtime.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: id})
	if !missing(err) {
		return err != nil || container.GetStatus().GetState() == runtimeapi.ContainerState_CONTAINER_EXITED
	}
	sandbox, err := w.runtime.PodSandboxStatus(ctx, &runtimeapi.PodSandboxStatusRequest{PodSandboxId: id})
	return err != nil || sandbox.GetStatus().GetState() == runtimeapi.PodSandboxState_SANDBOX_NOTREADY
}

func (w watch) tell(event containerd.Event) {
	key, known := w.keys.find(event.Container)
	switch {
	case known:
		w.wake(key)
	case event.What != containerd.Deleted: // a container that no list has shown is not missed
		w.relist()
	}
}
