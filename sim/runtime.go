package sim

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"nodal/node"
	"nodal/node/manifest"
	"nodal/reconciler"
)

var (
	_ reconciler.Runtime = (*world)(nil)
	_ reconciler.Images  = (*world)(nil)
)

// Ensure pulls an image: a call like any other.
func (w *world) Ensure(ctx context.Context, pod *node.Pod, a node.EnsureImage) (node.Result, error) {
	return w.Do(ctx, pod, nil, a)
}

// Do has the effect of one call, at once. What a call takes longer for, and
// what may go wrong on its way, is a call's concern; see call.go.
func (w *world) Do(_ context.Context, pod *node.Pod, got *node.Observed, action node.Action) (node.Result, error) {
	switch a := action.(type) {
	case node.RunSandbox:
		return w.runSandbox(pod, a), nil
	case node.InspectSandbox:
		return w.inspectSandbox(a)
	case node.StopSandbox:
		w.stopSandbox(a.ID)
		return node.Result{}, nil
	case node.RemoveSandbox:
		w.removeSandbox(a.ID)
		return node.Result{}, nil
	case node.EnsureImage:
		w.images[a.Ref] = true
		return node.Result{ID: "sha256:" + a.Ref}, nil
	case node.CreateContainer:
		return w.createContainer(pod, a)
	case node.StartContainer:
		return node.Result{}, w.startContainer(a)
	case node.ResizeContainer:
		return node.Result{}, w.resizeContainer(a)
	case node.InspectContainer:
		return w.inspectContainer(got, a)
	case node.RemoveContainer:
		w.removeContainer(a.ID)
		return node.Result{}, nil
	}
	return node.Result{}, fmt.Errorf("%s: this is not for the runtime to do: %w", action, node.ErrUnsupported)
}

// Watch is not used: the agent of a run is told by its driver.
func (w *world) Watch(context.Context, func(node.Key), func()) error {
	return node.ErrUnsupported
}

func refused(reason, format string, args ...any) error {
	return &node.Failure{Reason: reason, Err: fmt.Errorf(format, args...)}
}

func (w *world) runSandbox(pod *node.Pod, a node.RunSandbox) node.Result {
	s := &sandbox{
		id: w.newID("s"), key: pod.Key(), uid: pod.UID(), attempt: a.Attempt, ready: true, created: w.clock(),
	}
	w.sandboxes = append(w.sandboxes, s)
	w.changed(s.key)
	return node.Result{ID: s.id}
}

func (w *world) inspectSandbox(a node.InspectSandbox) (node.Result, error) {
	s := w.sandbox(a.ID)
	if s == nil {
		return node.Result{}, fmt.Errorf("inspect sandbox %s: %w", a.ID, node.ErrNotFound)
	}
	seen := s.observed()
	seen.IPs, seen.Inspected = []string{"10.0.0.1"}, true
	return node.Result{ID: s.id, Sandbox: &seen}, nil
}

// stopSandbox kills what is left in it, without any grace.
func (w *world) stopSandbox(id string) {
	s := w.sandbox(id)
	if s == nil {
		return
	}
	for _, c := range w.inSandbox(id) {
		w.kill(c)
	}
	s.ready, s.stopped = false, true
	w.changed(s.key)
}

func (w *world) removeSandbox(id string) {
	w.stopSandbox(id)
	if s := w.sandbox(id); s != nil {
		w.forgetSandbox(s)
	}
}

func (w *world) createContainer(pod *node.Pod, a node.CreateContainer) (node.Result, error) {
	s := w.sandbox(a.SandboxID)
	if s == nil || !s.ready {
		return node.Result{}, refused("CreateContainerError", "sandbox %s is not ready", a.SandboxID)
	}
	if !w.images[a.Image] {
		return node.Result{}, refused("CreateContainerError", "image %s is not there", a.Image)
	}
	c := &container{
		id: w.newID("c"), sandbox: s, key: pod.Key(), uid: pod.UID(), life: idOf(pod),
		name: a.Container, attempt: a.Attempt, state: node.ContainerCreated,
		image: a.Image, created: w.clock(), grace: node.GracePeriod(pod.Object),
	}
	if spec := specOf(pod.Object, a.Container); spec != nil {
		c.hash = manifest.ContainerHash(spec)
		if node.HookOf(spec, node.PreStop) != nil {
			c.noted = spec
		}
	}
	c.limits, c.owns = a.Limits, pod.Shares[a.Container].CPUs != ""
	if !w.cgroups[c.uid].Cover(c.limits) {
		return node.Result{}, refused("CreateContainerError", "the kernel: the pod's cgroup has no room for %s", c.limits)
	}
	w.witness.madeWith(w, pod, c)
	w.containers = append(w.containers, c)
	w.changed(c.key)
	return node.Result{ID: c.id}, nil
}

func (w *world) startContainer(a node.StartContainer) error {
	c := w.container(a.ID)
	switch {
	case c == nil:
		return refused("RunContainerError", "container %s is not there", a.ID)
	case c.state != node.ContainerCreated:
		return refused("RunContainerError", "container %s is %s", a.ID, c.state)
	case !c.sandbox.ready:
		return refused("RunContainerError", "the sandbox of container %s is not ready", a.ID)
	case scriptOf(c.image).broken:
		c.state, c.finished, c.exit, c.reason = node.ContainerExited, w.clock(), 128, "StartError"
		w.changed(c.key)
		return refused("RunContainerError", "container %s has no such program", a.ID)
	}
	w.begin(c)
	return nil
}

func (w *world) inspectContainer(got *node.Observed, a node.InspectContainer) (node.Result, error) {
	c := w.container(a.ID)
	if c == nil {
		return node.Result{}, fmt.Errorf("inspect container %s: %w", a.ID, node.ErrNotFound)
	}
	seen := c.observed()
	seen.StartedAt, seen.FinishedAt, seen.ExitCode, seen.Reason = c.started, c.finished, c.exit, c.reason
	seen.SandboxID, seen.Inspected, seen.LogPath = "", true, "/logs/"+c.id
	for i := range got.Containers { // a status does not say where the container is
		if got.Containers[i].ID == c.id {
			seen.SandboxID = got.Containers[i].SandboxID
		}
	}
	return node.Result{ID: c.id, Container: &seen}, nil
}

func (w *world) removeContainer(id string) {
	if c := w.container(id); c != nil {
		w.kill(c)
		w.forget(c)
	}
}

func (s *sandbox) observed() node.Sandbox {
	o := node.Sandbox{ID: s.id, UID: s.uid, Attempt: s.attempt, CreatedAt: s.created}
	if s.ready {
		o.State = node.SandboxReady
	}
	return o
}

func (c *container) observed() node.Container {
	return node.Container{
		ID: c.id, SandboxID: c.sandbox.id, UID: c.uid, Name: c.name, Attempt: c.attempt, State: c.state,
		Hash: c.hash, Image: c.image, ImageID: "sha256:" + c.image, CreatedAt: c.created, Grace: c.grace, Hooked: c.noted,
	}
}

// List shows what is there now.
func (w *world) List(_ context.Context, only *node.Key) (map[node.Key]*node.Observed, error) {
	all := w.listSandboxes(only)
	w.listContainers(only, all)
	return all, nil
}

// listSandboxes is the first half of an observation. CRI has no call that
// shows sandboxes and containers, so what happens in between shows in one of
// the halves only.
func (w *world) listSandboxes(only *node.Key) map[node.Key]*node.Observed {
	all := map[node.Key]*node.Observed{}
	for _, s := range slices.Backward(w.sandboxes) {
		if only == nil || s.key == *only {
			o := entry(all, s.key)
			o.Sandboxes = append(o.Sandboxes, s.observed())
		}
	}
	for _, o := range all {
		slices.SortStableFunc(o.Sandboxes, func(a, b node.Sandbox) int { return cmp.Compare(b.Attempt, a.Attempt) })
	}
	return all
}

// listContainers is the second half.
func (w *world) listContainers(only *node.Key, all map[node.Key]*node.Observed) {
	for _, c := range slices.Backward(w.containers) {
		if only == nil || c.key == *only {
			o := entry(all, c.key)
			o.Containers = append(o.Containers, c.observed())
		}
	}
	for _, o := range all {
		slices.SortStableFunc(o.Containers, func(a, b node.Container) int { return cmp.Compare(b.Attempt, a.Attempt) })
	}
}

func entry(all map[node.Key]*node.Observed, key node.Key) *node.Observed {
	if all[key] == nil {
		all[key] = &node.Observed{}
	}
	return all[key]
}

// minStop is the least that host/cri leaves between TERM and KILL.
const minStop = 2 * time.Second

// stopTimeout is what the runtime is asked to wait, in CRI's whole seconds.
func stopTimeout(grace time.Duration) time.Duration {
	return max(minStop, (grace + time.Second - 1).Truncate(time.Second))
}
