package runs

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/store"
	"nodal/server/wire"
)

// Containers enters running containers and sandboxes.
type Containers interface {
	// ExecSync runs a command to its end and collects its output. Zero means no timeout.
	// An exit code other than 0 is no error.
	ExecSync(ctx context.Context, containerID string, command []string, timeout time.Duration) (
		stdout, stderr []byte, exit int32, err error)
	// Exec runs a command with live streams to its end.
	Exec(ctx context.Context, containerID string, command []string, streams node.Streams) (exit int32, err error)
	// Attach connects live streams to the container's main process, until that ends.
	Attach(ctx context.Context, containerID string, streams node.Streams) error
	// PortForward connects a stream with a port inside a sandbox, until the stream is closed.
	PortForward(ctx context.Context, sandboxID string, port int32, client io.ReadWriter) error
}

// Pods finds pods by their names.
type Pods interface {
	View(node.Key) (store.View, bool)
}

// Pod returns the pod of a name.
func Pod(pods Pods, key node.Key) (store.View, error) {
	view, ok := pods.View(key)
	if !ok {
		return store.View{}, fmt.Errorf("pod %s: %w", key, node.ErrNotFound)
	}
	return view, nil
}

// Entrance leads into the running containers of pods.
type Entrance struct {
	Pods Pods
	// May returns an error if the caller may not run commands in the pod.
	May func(context.Context, *corev1.Pod) error
}

// ForCommand returns the run in which a command can run.
func (e Entrance) ForCommand(
	ctx context.Context, key node.Key, container string, command []string,
) (node.Container, error) {
	if len(command) == 0 || command[0] == "" {
		return node.Container{}, fmt.Errorf("run in container %q of pod %s: no command: %w", container, key, node.ErrInvalid)
	}
	return e.Running(ctx, key, container)
}

// Running returns the container's run that is still running, to a caller that may enter it.
func (e Entrance) Running(ctx context.Context, key node.Key, container string) (node.Container, error) {
	view, err := Pod(e.Pods, key)
	if err != nil {
		return node.Container{}, err
	}
	if Declared(view, container) == nil {
		return node.Container{}, fmt.Errorf("container %q in pod %s: %w", container, key, node.ErrNotFound)
	}
	if err := e.May(ctx, view.Slot.Pod.Object); err != nil {
		return node.Container{}, err
	}
	all := begun(view, container)
	if len(all) == 0 || all[0].State != node.ContainerRunning {
		return node.Container{}, fmt.Errorf("container %q in pod %s does not run: %w", container, key, node.ErrConflict)
	}
	return all[0], nil
}

// Declared returns a container as the pod's spec declares it, or nil.
func Declared(view store.View, name string) *corev1.Container {
	for c := range node.EveryContainer(&view.Slot.Pod.Object.Spec) {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// HasTerminal reports whether a container runs with a terminal. That is settled when it starts.
func HasTerminal(view store.View, container string) bool {
	c := Declared(view, container)
	return c != nil && c.TTY
}

// Sandbox returns the sandbox in which a pod has its network.
func Sandbox(view store.View) (*node.Sandbox, error) {
	if view.Got != nil {
		if sandbox := view.Got.Home(view.Slot.Pod.UID()); sandbox != nil {
			return sandbox, nil
		}
	}
	return nil, fmt.Errorf("pod %s has no network: it does not run: %w", view.Key, node.ErrConflict)
}

// Failed wraps the error of a command that did not come to its end. The runtime reports
// a missing program, or one that may not be executed, in words alone.
func Failed(command []string, key node.Key, err error) error {
	known := wire.Known(err)
	for _, words := range []string{"executable file not found", "no such file or directory", "permission denied"} {
		if !known && strings.Contains(err.Error(), words) {
			err = fmt.Errorf("%w: %w", err, node.ErrInvalid)
			break
		}
	}
	return fmt.Errorf("run %q in pod %s: %w", command[0], key, err)
}

// begun returns the container's runs that have begun, newest first.
func begun(view store.View, container string) []node.Container {
	var all []node.Container
	if view.Got == nil {
		return nil
	}
	for _, c := range view.Got.Containers {
		started := c.State == node.ContainerRunning || c.State == node.ContainerExited
		if c.UID == view.Slot.Pod.UID() && c.Name == container && started {
			all = append(all, c)
		}
	}
	return all
}
