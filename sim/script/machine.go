package script

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/limit"
	"nodal/reconciler"
)

// machine is a runtime that does as it is told.
type machine struct {
	stage      *stage
	sandboxes  []node.Sandbox   // newest first
	containers []node.Container // newest first
	made       map[string]int   // for ids
}

var (
	_ reconciler.Runtime = (*machine)(nil)
	_ reconciler.Images  = (*machine)(nil)
	_ reconciler.Hooks   = (*machine)(nil)
	_ reconciler.Logs    = (*machine)(nil)
	_ reconciler.Volumes = (*machine)(nil)
)

func (m *machine) Ensure(_ context.Context, _ *node.Pod, a node.EnsureImage) (node.Result, error) {
	return node.Result{At: m.stage.now, ID: "sha256:" + a.Ref}, nil
}

// Do has the effect of an action, at once.
func (m *machine) Do(_ context.Context, pod *node.Pod, _ *node.Observed, action node.Action) (node.Result, error) {
	result := node.Result{At: m.stage.now}
	switch a := action.(type) {
	case node.RunSandbox:
		result.ID = m.id("s")
		m.sandboxes = slices.Insert(m.sandboxes, 0, node.Sandbox{
			ID: result.ID, UID: pod.UID(), Attempt: a.Attempt, State: node.SandboxReady, CreatedAt: m.stage.now,
		})
	case node.CreateContainer:
		result.ID = m.id("c")
		m.containers = slices.Insert(m.containers, 0, node.Container{
			ID: result.ID, SandboxID: a.SandboxID, UID: pod.UID(), Name: a.Container, Attempt: a.Attempt,
			State: node.ContainerCreated, Hash: a.Hash, Image: a.Image, ImageID: a.ImageID,
			CreatedAt: m.stage.now, Grace: node.GracePeriod(pod.Object),
		})
	case node.StartContainer:
		c := m.container(a.ID)
		if c == nil || c.State != node.ContainerCreated {
			return node.Result{}, fmt.Errorf("start %s: %w", a.ID, node.ErrNotFound)
		}
		c.State, c.StartedAt = node.ContainerRunning, m.stage.now
	case node.ResizeContainer: // nothing here uses anything
	case node.StopContainer:
		m.exit(m.container(a.ID), 143, "")
	case node.StopSandbox:
		m.loseSandbox(a.ID)
	case node.RemoveSandbox:
		m.removeSandbox(a.ID)
	case node.RemoveContainer:
		m.removeContainer(a.ID)
	default:
		return m.inspect(action)
	}
	return result, nil
}

func (m *machine) inspect(action node.Action) (node.Result, error) {
	switch a := action.(type) {
	case node.InspectSandbox:
		for _, s := range m.sandboxes {
			if s.ID == a.ID {
				s.IPs, s.Inspected = []string{"10.0.0.1"}, true
				return node.Result{ID: a.ID, Sandbox: &s}, nil
			}
		}
	case node.InspectContainer:
		if found := m.container(a.ID); found != nil {
			c := *found
			c.Inspected = true
			return node.Result{ID: a.ID, Container: &c}, nil
		}
	}
	return node.Result{}, fmt.Errorf("%s: %w", action, node.ErrNotFound)
}

// List shows what a list call tells, which is less than an inspection does.
func (m *machine) List(context.Context, *node.Key) (map[node.Key]*node.Observed, error) {
	seen := &node.Observed{Sandboxes: slices.Clone(m.sandboxes)}
	for _, c := range m.containers {
		c.StartedAt, c.FinishedAt, c.ExitCode, c.Reason = time.Time{}, time.Time{}, 0, ""
		seen.Containers = append(seen.Containers, c)
	}
	return map[node.Key]*node.Observed{m.stage.key: seen}, nil
}

// Watch is not used: the stage tells the track of what happens.
func (m *machine) Watch(context.Context, func(node.Key), func()) error { return node.ErrUnsupported }

// Run runs a hook, which succeeds.
func (m *machine) Run(context.Context, node.Key, node.RunHook) error { return nil }

// No log collector looks for the logs of a script.
func (m *machine) Link(node.Key, *node.Container)  {}
func (m *machine) Unlink(node.Key, string, string) {}

// RemovePod and RemoveRun remove logs that nobody has written.
func (m *machine) RemovePod(node.Key, types.UID) error                 { return nil }
func (m *machine) RemoveRun(node.Key, types.UID, string, uint32) error { return nil }

// SetUp lays out a volume that nobody reads, if what it is made from is there.
func (m *machine) SetUp(_ context.Context, pod *node.Pod, name string) error {
	for volume := range node.MountedVolumes(&pod.Object.Spec) {
		for _, ref := range node.VolumeRefs(pod.Object, volume) {
			if _, ok := m.stage.store.Object(ref); !ok && volume.Name == name {
				return &node.Failure{Reason: node.FailedMount, Err: fmt.Errorf("%s: %w", ref, node.ErrNotFound)}
			}
		}
	}
	return nil
}

// TearDown and Sweep remove volumes in which nothing lies.
func (m *machine) TearDown(context.Context, types.UID) error               { return nil }
func (m *machine) Sweep(context.Context, func(types.UID) bool) error       { return nil }
func (m *machine) Reclaim(context.Context, *corev1.PersistentVolume) error { return nil }

// cgroups do as they are told.
type cgroups struct{}

var _ reconciler.Cgroups = cgroups{}

func (cgroups) SetUp(context.Context, *corev1.Pod, limit.Limits) error { return nil }
func (cgroups) TearDown(context.Context, types.UID) error              { return nil }
func (cgroups) Sweep(context.Context, func(types.UID) bool) error      { return nil }

func (m *machine) id(kind string) string {
	m.made[kind]++
	return fmt.Sprintf("%s%d", kind, m.made[kind])
}

func (m *machine) container(id string) *node.Container {
	i := slices.IndexFunc(m.containers, func(c node.Container) bool { return c.ID == id })
	if i < 0 {
		return nil
	}
	return &m.containers[i]
}

// named is the newest container of a name.
func (m *machine) named(name string) *node.Container {
	i := slices.IndexFunc(m.containers, func(c node.Container) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &m.containers[i]
}

func (m *machine) exit(c *node.Container, code int32, reason string) {
	if c != nil && c.State != node.ContainerExited {
		c.State, c.FinishedAt, c.ExitCode, c.Reason = node.ContainerExited, m.stage.now, code, reason
	}
}

// loseSandbox is the end of a sandbox and of what runs in it.
func (m *machine) loseSandbox(id string) {
	for i := range m.containers {
		if c := &m.containers[i]; c.SandboxID == id && c.State == node.ContainerRunning {
			m.exit(c, 137, "")
		}
	}
	for i := range m.sandboxes {
		if m.sandboxes[i].ID == id {
			m.sandboxes[i].State = node.SandboxNotReady
		}
	}
}

func (m *machine) removeContainer(id string) {
	m.containers = slices.DeleteFunc(m.containers, func(c node.Container) bool { return c.ID == id })
}

func (m *machine) removeSandbox(id string) {
	m.sandboxes = slices.DeleteFunc(m.sandboxes, func(s node.Sandbox) bool { return s.ID == id })
	m.containers = slices.DeleteFunc(m.containers, func(c node.Container) bool { return c.SandboxID == id })
}
