package reconciler

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// fold returns the observation with the effect of a successful action in it.
func fold(old *node.Observed, uid types.UID, o Outcome) *node.Observed {
	got := old.Clone()
	before := got.Faults[o.Action.Target()]
	delete(got.Faults, o.Action.Target())
	switch a := o.Action.(type) {
	case node.SetUp:
		got.Lay(a.Facility, a.Name, a.Part)
	case node.TearDown:
		got.Laid[a.Facility] = node.Laid{Gone: true}
	case node.RunSandbox:
		got.Laid[node.Logs].Gone = false
		got.Sandboxes = slices.Insert(got.Sandboxes, 0, node.Sandbox{
			ID: o.Result.ID, UID: uid, Attempt: a.Attempt, State: node.SandboxReady, CreatedAt: o.Result.At,
		})
	case node.InspectSandbox:
		if s := sandboxByID(got, a.ID); s != nil && o.Result.Sandbox != nil {
			s.IPs, s.Inspected, s.CreatedAt = o.Result.Sandbox.IPs, true, o.Result.Sandbox.CreatedAt
		}
	case node.StopSandbox:
		if s := sandboxByID(got, a.ID); s != nil {
			s.State, s.Stopped = node.SandboxNotReady, true
		}
		unbind(got, uid)
	case node.RemoveSandbox:
		got.Sandboxes = slices.DeleteFunc(got.Sandboxes, func(s node.Sandbox) bool { return s.ID == a.ID })
		got.Containers = slices.DeleteFunc(got.Containers, func(c node.Container) bool { return c.SandboxID == a.ID })
		unbind(got, uid)
	case node.EnsureImage:
		setImage(got, a, o.Result.ID)
	case node.ReadyDevices:
		setReadied(got, a)
	case node.CreateContainer:
		if before.Reason == node.RunContainerError { // the pauses go on growing until a start succeeds
			got.Faults = withFault(got.Faults, a.Target(), before)
		}
		got.Containers = slices.Insert(got.Containers, 0, node.Container{
			ID: o.Result.ID, SandboxID: a.SandboxID, UID: uid, Name: a.Container, Attempt: a.Attempt,
			State: node.ContainerCreated, CreatedAt: o.Result.At, Hash: a.Hash,
			Image: a.Image, ImageID: a.ImageID, Limits: &a.Limits,
		})
	case node.StartContainer:
		if c := containerByID(got, a.ID); c != nil {
			c.State, c.StartedAt, c.Inspected = node.ContainerRunning, o.Result.At, false
			lookedAt(c, o.Result.Container)
			c.Hooks.Fresh = true
		}
	case node.RunHook:
		endHook(got, a, o)
	case node.StopContainer:
		if c := containerByID(got, a.ID); c != nil && c.State != node.ContainerExited {
			c.State, c.FinishedAt, c.Inspected = node.ContainerExited, o.Result.At, false
		}
	case node.InspectContainer:
		if c := containerByID(got, a.ID); c != nil {
			stopped := c.State == node.ContainerExited
			lookedAt(c, o.Result.Container)
			if stopped && c.Alive() {
				stopAgainLater(got, c, o.Now)
			}
		}
	case node.ResizeContainer:
		if c := containerByID(got, a.ID); c != nil {
			c.Limits = &a.Limits
		}
	case node.RemoveContainer:
		got.Containers = slices.DeleteFunc(got.Containers, func(c node.Container) bool { return c.ID == a.ID })
	}
	return got
}

// stopAgainLater notes that a run lives although the runtime has said that it stopped it. Without a rest the two answers
// would chase each other.
func stopAgainLater(got *node.Observed, run *node.Container, now time.Time) {
	a := node.StopContainer{Container: run.Name, ID: run.ID}
	err := fmt.Errorf("stop container %s: the runtime says that it is stopped, and that it runs; restart the runtime if this goes on", run.Name)
	got.Faults = withFault(got.Faults, a.Target(), faultOf(got.Faults[a.Target()], err, restOf(a), now))
}

// lookedAt takes over the result of an inspection, if there is one. Limits and hooks stay: only the agent knows them.
func lookedAt(c, seen *node.Container) {
	if seen != nil {
		limits, hooks := c.Limits, c.Hooks
		*c = *seen
		c.Limits, c.Hooks = limits, hooks
	}
}

func setHealth(got *node.Observed, name string, health node.Health) {
	if got.Health == nil {
		got.Health = map[string]node.Health{}
	}
	got.Health[name] = health
}

func setReadied(got *node.Observed, a node.ReadyDevices) {
	if got.Readied == nil {
		got.Readied = map[string]uint32{}
	}
	got.Readied[a.Container] = a.Attempt
}

func setImage(got *node.Observed, a node.EnsureImage, id string) {
	if a.Volume != "" {
		got.Lay(node.Volumes, a.Volume, node.Part{Image: id})
		return
	}
	if got.Images == nil {
		got.Images = map[string]node.Image{}
	}
	got.Images[a.Container] = node.Image{Ref: a.Ref, ID: id, Attempt: a.Attempt}
}

// unbind forgets the limits of a pod that has no sandbox. Its cgroup may vanish then, and the runtime would make the
// next sandbox in one without limits.
func unbind(got *node.Observed, uid types.UID) {
	if got.Home(uid) == nil {
		got.Laid[node.Cgroup].Parts = nil
	}
}

func sandboxByID(got *node.Observed, id string) *node.Sandbox {
	i := slices.IndexFunc(got.Sandboxes, func(s node.Sandbox) bool { return s.ID == id })
	if i < 0 {
		return nil
	}
	return &got.Sandboxes[i]
}

func containerByID(got *node.Observed, id string) *node.Container {
	i := slices.IndexFunc(got.Containers, func(c node.Container) bool { return c.ID == id })
	if i < 0 {
		return nil
	}
	return &got.Containers[i]
}

// fail returns the observation with the failure of an action in it.
func fail(old *node.Observed, o Outcome) *node.Observed {
	got := old.Clone()
	target := o.Action.Target()
	if hook, ok := o.Action.(node.RunHook); ok {
		endHook(got, hook, o)
		if failureOf(o.Err) != nil { // there is nothing to retry
			delete(got.Faults, target)
			return got
		}
	}
	if unclear, ok := o.Action.(interface{ Doubt(*node.Observed) }); ok {
		unclear.Doubt(got)
	}
	fault := faultOf(got.Faults[target], o.Err, restOf(o.Action), o.Now)
	if a, ok := o.Action.(node.EnsureImage); ok && fault.Count > 1 && node.PullFailed(fault.Reason) {
		fault.Message = fmt.Sprintf("Back-off pulling image %q: %s: %s", a.Ref, fault.Reason, fault.Message)
		fault.Reason = node.ImagePullBackOff
	}
	got.Faults = withFault(got.Faults, target, fault)
	return got
}
