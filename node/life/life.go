package life

import (
	"iter"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/manifest"
)

// Life holds one pod and its observation at one moment.
type Life struct {
	slot    *node.Slot
	spec    *corev1.PodSpec
	got     *node.Observed
	Sandbox *node.Sandbox // the ready one in which the pod lives, or nil
}

// Of looks at the pod that owns the slot.
func Of(slot *node.Slot, got *node.Observed) *Life {
	return &Life{slot: slot, spec: &slot.Pod.Object.Spec, got: got, Sandbox: got.Home(slot.Pod.UID())}
}

// Containers yields all containers of the pod, in the order in which they begin.
func (l *Life) Containers() iter.Seq[*corev1.Container] { return node.Containers(l.spec) }

// Run returns the newest run of a container, or nil.
func (l *Life) Run(name string) *node.Container { return l.got.Newest(l.slot.Pod.UID(), name) }

// Ran returns the newest run of a container that was started, or nil. A run that was only
// created says nothing about the container.
func (l *Life) Ran(name string) *node.Container {
	run := l.Run(name)
	if run != nil && run.State == node.ContainerCreated {
		return l.got.Previous(l.slot.Pod.UID(), name)
	}
	return run
}

// Current returns the newest run of a container. It is nil if the run belongs to an earlier sandbox
// than the present one, or if the pod has started over since. A pod between two sandboxes stands
// where it stood in the last.
func (l *Life) Current(name string) *node.Container {
	run := l.Run(name)
	if run != nil && (l.Sandbox != nil && run.SandboxID != l.Sandbox.ID || l.Outlived(run)) {
		return nil
	}
	return run
}

// Outlived reports whether the pod has started over since a run.
func (l *Life) Outlived(run *node.Container) bool {
	return l.asked(run, func(r node.Restart) bool { return r.All })
}

// Known reports whether a run has ended and its end is known.
func Known(run *node.Container) bool {
	return run != nil && run.State == node.ContainerExited && run.Inspected
}

// Started reports whether a container runs so well that containers which wait for it may begin.
func (l *Life) Started(c *corev1.Container) bool {
	return l.started(l.Run(c.Name), c)
}

func (l *Life) started(run *node.Container, c *corev1.Container) bool {
	return run != nil && l.Hooked(run, c) && l.got.Started(run, c)
}

// Ready reports whether a container has started and may be sent requests.
func (l *Life) Ready(c *corev1.Container) bool {
	return l.Started(c) && l.got.Ready(l.Run(c.Name), c)
}

// FirstStarted returns when a sidecar first started in the present sandbox; zero if it has
// not, or if that is unknown.
func (l *Life) FirstStarted(c *corev1.Container) time.Time {
	run := l.Run(c.Name)
	if noted := l.slot.Tallies[c.Name].Started; run == nil || !noted.IsZero() {
		return noted
	}
	health := l.got.HealthOf(run)
	if !l.Hooked(run, c) || c.StartupProbe != nil && health.Started.IsZero() {
		return time.Time{}
	}
	return slices.MaxFunc([]time.Time{run.StartedAt, health.Hooked, health.Started}, time.Time.Compare)
}

// Hooked reports whether a run is past its postStart hook, if it has one. Only the journal's record
// counts: without it the next agent would run the hook again, and the container would not be ready
// meanwhile.
func (l *Life) Hooked(run *node.Container, c *corev1.Container) bool {
	noted := l.slot.Health[c.Name]
	return node.HookOf(c, node.PostStart) == nil || noted.ID == run.ID && !noted.Hooked.IsZero()
}

// Succeeded reports whether an init container has run to its success in the present
// sandbox. A run that was asked to end before does not count.
func (l *Life) Succeeded(c *corev1.Container) bool {
	run := l.Current(c.Name)
	return Known(run) && run.ExitCode == 0 && !l.Asked(run)
}

// Past reports whether an init container no longer holds up the containers after it. It is past for
// good once one of those has begun in the same sandbox: a sidecar that crashes later holds nothing
// up. A container that was only created does not count; the call that made it may be long given up.
func (l *Life) Past(c *corev1.Container) bool {
	if node.IsSidecar(c) && l.started(l.Current(c.Name), c) || !node.IsSidecar(c) && l.Succeeded(c) {
		return true
	}
	after := false
	for other := range l.Containers() {
		if run := l.Current(other.Name); after && run != nil && run.State != node.ContainerCreated {
			return true
		}
		after = after || other.Name == c.Name
	}
	return false
}

// Initialised reports whether the application containers may begin, or have begun.
func (l *Life) Initialised() bool {
	for i := range l.spec.InitContainers {
		if !l.Past(&l.spec.InitContainers[i]) {
			return false
		}
	}
	return true
}

// Outdated reports whether a run was made from another image than is wanted now.
func Outdated(run *node.Container, c *corev1.Container) bool {
	return run.Hash != "" && !manifest.IsHashOf(run.Hash, c)
}

// Asked reports whether this run was asked to end so that another begins: by a client, by a
// container's rule, or for another image.
func (l *Life) Asked(run *node.Container) bool {
	return l.asked(run, func(node.Restart) bool { return true })
}

func (l *Life) asked(run *node.Container, counts func(node.Restart) bool) bool {
	return slices.ContainsFunc(l.slot.Pod.Restarts, func(r node.Restart) bool {
		return r.Container == run.Name && run.Attempt <= r.Attempt && counts(r)
	})
}

// After returns what follows a run that has ended, by the rules of its container and its
// policy. A run that a probe has condemned has failed, whatever its exit code.
func (l *Life) After(run *node.Container, c *corev1.Container) node.Followup {
	next := node.After(l.spec, c, run.ExitCode)
	condemned := l.got.HealthOf(run).Condemns(run)
	if next == node.NoRun && condemned && node.PolicyOf(l.spec, c) != corev1.RestartPolicyNever {
		return node.NextRun
	}
	return next
}

// Again reports whether another run follows one that has ended, because it was asked for or by the
// container's rules and policy. Another image alone does not restart what has ended for good.
func (l *Life) Again(run *node.Container, c *corev1.Container) bool {
	if l.RunsOnce(c) {
		return !l.Succeeded(c)
	}
	return l.Asked(run) || l.After(run, c) != node.NoRun
}

// Renewed returns the run of a container that a new one would replace for a change: a run that goes
// on, or one that is followed by another. It is nil if nothing has begun, or if all has ended for
// good.
func (l *Life) Renewed(c *corev1.Container) *node.Container {
	run := l.Run(c.Name)
	if run == nil || l.Over() || l.RunsOnce(c) && l.Past(c) {
		return nil
	}
	if run.Alive() || Known(run) && l.Again(run, c) {
		return run
	}
	return nil
}

// RunsOnce reports whether a container runs to its success and no further.
func (l *Life) RunsOnce(c *corev1.Container) bool {
	return node.InitContainer(l.spec, c.Name) != nil && !node.IsSidecar(c)
}

// Crashed reports whether a run that is followed by another has failed, so that the next may
// have to wait. A rule that restarts all containers may do so for ever.
func (l *Life) Crashed(run *node.Container, c *corev1.Container) bool {
	switch {
	case Outdated(run, c):
		return false
	case l.Asked(run):
		return l.asked(run, func(r node.Restart) bool { return r.Cause })
	}
	return !(l.RunsOnce(c) && run.ExitCode == 0)
}

// Failed reports whether an init container has failed for good.
func (l *Life) Failed() bool {
	for i := range l.spec.InitContainers {
		c := &l.spec.InitContainers[i]
		if run := l.Run(c.Name); Known(run) && run.ExitCode != 0 && !l.Asked(run) && l.After(run, c) == node.NoRun {
			return true
		}
	}
	return false
}

// Over reports whether the pod has done all that it will ever do: it is made to end, an init
// container has failed for good, or every application container has ended for good. Sidecars do not
// count.
func (l *Life) Over() bool {
	if l.slot.Termination != nil || l.Failed() {
		return true
	}
	for i := range l.spec.Containers {
		c := &l.spec.Containers[i]
		if run := l.Run(c.Name); !Known(run) || l.Again(run, c) {
			return false
		}
	}
	return true
}

// Ending reports whether nothing follows the last application containers that run: probes or hooks have condemned them,
// and that is journalled. The pod will be over when they have ended.
func (l *Life) Ending() bool {
	runs := false
	for i := range l.spec.Containers {
		c := &l.spec.Containers[i]
		run := l.Run(c.Name)
		switch {
		case Known(run) && !l.Again(run, c):
		case run != nil && run.State != node.ContainerCreated && l.lastCondemned(run, c): // it runs, or was not inspected yet
			runs = true
		default:
			return false
		}
	}
	return runs && !l.Over()
}

// lastCondemned reports whether a run is condemned, and no other can follow it, whatever its exit code.
func (l *Life) lastCondemned(run *node.Container, c *corev1.Container) bool {
	noted := l.slot.Health[c.Name]
	condemned := noted.ID == run.ID && noted.Failed != ""
	last := node.PolicyOf(l.spec, c) == corev1.RestartPolicyNever && len(c.RestartPolicyRules) == 0
	return condemned && last && !l.Asked(run) && !Outdated(run, c)
}
