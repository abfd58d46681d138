package sim

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"nodal/node"
	"nodal/node/manifest"
	"nodal/reconciler"
)

var (
	_ reconciler.Runtime = (*Machine)(nil)
	_ reconciler.Images  = (*Machine)(nil)
)

// Ensure pulls an image through Do.
func (m *Machine) Ensure(ctx context.Context, pod *node.Pod, a node.EnsureImage) (node.Result, error) {
	return m.Do(ctx, pod, nil, a)
}

// Do has an action's effect. For a stop it advances time until the container has ended.
func (m *Machine) Do(
	_ context.Context, pod *node.Pod, got *node.Observed, action node.Action,
) (node.Result, error) {
	name := nameOf(pod, action)
	if name != "" && m.reserved[name] {
		return node.Result{}, taken(action)
	}
	result, err := m.carryOut(pod, got, action)
	if name != "" && err == nil {
		m.reserved[name] = true
	}
	result.At = m.clock()
	return result, err
}

// nameOf returns the name that an action reserves in the runtime, or "" if the action makes
// nothing.
func nameOf(pod *node.Pod, action node.Action) string {
	switch about := action.About(); about.Nature {
	case node.MakesSandbox:
		return sandboxName(pod.UID(), about.Attempt)
	case node.MakesContainer:
		return containerName(pod.UID(), about.Container, about.Attempt)
	}
	return ""
}

// taken returns the error for a reserved name. An earlier call of the same agent may have made its
// owner, so the outcome is unknown.
func taken(a node.Action) error { return fmt.Errorf("the name is reserved: %w", unknown(a)) }

// carryOut has an action's effect, once its name is reserved.
func (m *Machine) carryOut(pod *node.Pod, got *node.Observed, action node.Action) (node.Result, error) {
	switch a := action.(type) {
	case node.RunSandbox:
		return m.runSandbox(pod, a), nil
	case node.InspectSandbox:
		return m.inspectSandbox(a)
	case node.StopSandbox:
		m.stopSandbox(a.ID)
		return node.Result{}, nil
	case node.RemoveSandbox:
		m.removeSandbox(a.ID)
		return node.Result{}, nil
	case node.EnsureImage:
		m.images[a.Ref] = true
		return node.Result{ID: "sha256:" + a.Ref}, nil
	case node.CreateContainer:
		return m.createContainer(pod, a)
	case node.StartContainer:
		return node.Result{}, m.startContainer(a)
	case node.ResizeContainer:
		return node.Result{}, m.resizeContainer(a)
	case node.InspectContainer:
		return m.inspectContainer(got, a)
	case node.StopContainer:
		m.stopContainer(a)
		return node.Result{}, nil
	case node.RemoveContainer:
		m.removeContainer(a.ID)
		return node.Result{}, nil
	}
	return node.Result{}, fmt.Errorf("%s: the runtime has no such action: %w", action, node.ErrUnsupported)
}

// Watch sends no events: the drivers of seeds and scripts do.
func (m *Machine) Watch(context.Context, func(node.Key), func()) error {
	return node.ErrUnsupported
}

func refused(reason, format string, args ...any) error {
	return &node.Failure{Reason: reason, Err: fmt.Errorf(format, args...)}
}

func (m *Machine) runSandbox(pod *node.Pod, a node.RunSandbox) node.Result {
	s := &sandbox{
		id: m.newID("s"), key: pod.Key(), uid: pod.UID(), attempt: a.Attempt, ready: true, created: m.clock(),
	}
	m.sandboxes = append(m.sandboxes, s)
	m.changed(s.key)
	return node.Result{ID: s.id}
}

func (m *Machine) inspectSandbox(a node.InspectSandbox) (node.Result, error) {
	s := m.sandbox(a.ID)
	if s == nil {
		return node.Result{}, fmt.Errorf("inspect sandbox %s: %w", a.ID, node.ErrNotFound)
	}
	seen := s.observed()
	seen.IPs, seen.Inspected = []string{"10.0.0.1"}, true
	return node.Result{ID: s.id, Sandbox: &seen}, nil
}

// stopSandbox kills the containers that are left in it, without a grace period.
func (m *Machine) stopSandbox(id string) {
	s := m.sandbox(id)
	if s == nil {
		return
	}
	for _, c := range m.inSandbox(id) {
		m.kill(c)
	}
	s.ready, s.stopped = false, true
	m.changed(s.key)
}

func (m *Machine) removeSandbox(id string) {
	m.stopSandbox(id)
	if s := m.sandbox(id); s != nil {
		m.forgetSandbox(s)
	}
}

func (m *Machine) createContainer(pod *node.Pod, a node.CreateContainer) (node.Result, error) {
	s := m.sandbox(a.SandboxID)
	if s == nil || !s.ready {
		return node.Result{}, refused("CreateContainerError", "sandbox %s is not ready", a.SandboxID)
	}
	if !m.images[a.Image] {
		return node.Result{}, refused("CreateContainerError", "image %s is not there", a.Image)
	}
	c := &container{
		id: m.newID("c"), sandbox: s, key: pod.Key(), uid: pod.UID(), life: idOf(pod),
		name: a.Container, attempt: a.Attempt, state: node.ContainerCreated,
		image: a.Image, created: m.clock(), grace: node.GracePeriod(pod.Object),
	}
	if spec := specOf(pod.Object, a.Container); spec != nil {
		c.hash = manifest.HashIn(pod, spec)
		if node.HookOf(spec, node.PreStop) != nil {
			c.noted = spec
		}
	}
	c.limits, c.owns = a.Limits, pod.Shares[a.Container].CPUs != ""
	if err := m.audience.admit(pod, c); err != nil {
		return node.Result{}, err
	}
	m.containers = append(m.containers, c)
	m.changed(c.key)
	return node.Result{ID: c.id}, nil
}

func (m *Machine) startContainer(a node.StartContainer) error {
	c := m.container(a.ID)
	switch {
	case c == nil:
		return refused(node.RunContainerError, "container %s is not there", a.ID)
	case c.state != node.ContainerCreated:
		return refused(node.RunContainerError, "container %s is %s", a.ID, c.state)
	case !c.sandbox.ready:
		return refused(node.RunContainerError, "the sandbox of container %s is not ready", a.ID)
	case scriptOf(c.image).broken:
		m.failStart(c, 128, "StartError")
		return refused(node.RunContainerError, "container %s has no such program", a.ID)
	}
	m.begin(c)
	return nil
}

// failStart leaves an exited container, as a failed start does.
func (m *Machine) failStart(c *container, code int32, reason string) {
	c.state, c.finished, c.exit, c.reason = node.ContainerExited, m.clock(), code, reason
	m.changed(c.key)
}

func (m *Machine) resizeContainer(a node.ResizeContainer) error {
	c := m.container(a.ID)
	if c == nil || !c.running() {
		return refused("ResizeContainerError", "container %s does not run", a.ID)
	}
	if err := m.audience.resize(c, a.Limits); err != nil {
		return err
	}
	c.limits = a.Limits
	return nil
}

func (m *Machine) stopContainer(a node.StopContainer) {
	c := m.container(a.ID)
	if c == nil || !c.running() {
		return
	}
	m.stop(c, a.Grace, func() bool { return false })
	for c.running() && m.step() {
	}
}

func (m *Machine) inspectContainer(got *node.Observed, a node.InspectContainer) (node.Result, error) {
	c := m.container(a.ID)
	if c == nil {
		return node.Result{}, fmt.Errorf("inspect container %s: %w", a.ID, node.ErrNotFound)
	}
	seen := c.observed()
	seen.StartedAt, seen.FinishedAt, seen.ExitCode, seen.Reason = c.started, c.finished, c.exit, c.reason
	seen.SandboxID, seen.Inspected, seen.LogPath = "", true, "/logs/"+c.id
	if !m.blind {
		seen.Guard = c.limits.Guard()
	}
	for i := range got.Containers { // a status does not contain the sandbox of a container
		if got.Containers[i].ID == c.id {
			seen.SandboxID = got.Containers[i].SandboxID
		}
	}
	return node.Result{ID: c.id, Container: &seen}, nil
}

func (m *Machine) removeContainer(id string) {
	if c := m.container(id); c != nil {
		m.kill(c)
		m.forget(c)
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

// List returns what exists now.
func (m *Machine) List(_ context.Context, only *node.Key) (map[node.Key]*node.Observed, error) {
	all := m.listSandboxes(only)
	m.listContainers(only, all)
	return all, nil
}

// listSandboxes returns the first half of an observation. CRI has no call that lists sandboxes and
// containers together, so a change in between shows in one half only.
func (m *Machine) listSandboxes(only *node.Key) map[node.Key]*node.Observed {
	all := map[node.Key]*node.Observed{}
	for _, s := range slices.Backward(m.sandboxes) {
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

// listContainers adds the second half.
func (m *Machine) listContainers(only *node.Key, all map[node.Key]*node.Observed) {
	for _, c := range slices.Backward(m.containers) {
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
