package decide

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/life"
	"nodal/node/manifest"
)

// initContainers runs the init containers one after the other, each until it succeeds. It starts the sidecars among
// them, and keeps those running from then on. A new sandbox runs all of them again.
func initContainers(p *Plan, v *View) bool {
	if v.sandbox == nil || v.life.Over() || v.life.Ending() {
		return false
	}
	for i := range v.spec.InitContainers {
		c := &v.spec.InitContainers[i]
		past := v.life.Past(c)
		if node.IsSidecar(c) || !past {
			v.drive(p, c)
		}
		if !past {
			p.why("waiting for init container " + c.Name)
			return true
		}
	}
	return false
}

// containers brings up the application containers side by side. Those behind one whose postStart hook has not ended
// wait for it.
func containers(p *Plan, v *View) bool {
	if v.sandbox == nil || v.life.Over() {
		return false
	}
	before := "" // the container whose hook the others wait for
	for i := range v.spec.Containers {
		c := &v.spec.Containers[i]
		if run := v.run(c.Name); before != "" && (run == nil || !run.Alive()) {
			p.why("waiting for the postStart hook of container " + before)
			continue
		}
		v.drive(p, c)
		if before == "" && v.starting(c) {
			before = c.Name
		}
	}
	return false
}

// drive adds the next step of one container.
func (v *View) drive(p *Plan, c *corev1.Container) {
	run := v.run(c.Name)
	switch {
	case run == nil:
		v.begin(p, c)
	case v.unheard && run.Alive() && life.Outdated(run, c):
		p.why("container " + c.Name + " runs another version, and its source has not said yet which one it wants")
	case run.State == node.ContainerCreated && run.SandboxID == v.sandbox.ID && !life.Outdated(run, c) && !v.stuck(run):
		p.try(v, node.StartContainer{Container: c.Name, ID: run.ID})
	case run.State == node.ContainerCreated:
		p.try(v, remove(run))
	case run.Alive() && life.Outdated(run, c) && !v.life.Asked(run):
		// Journal it first: an end that we cause must not pass for the container's own, after which none may follow.
		p.try(v, node.AskRestart{Container: c.Name, Attempt: run.Attempt})
	case run.State == node.ContainerUnknown:
		v.end(p, run, v.grace(), "its state is unknown")
	case run.State == node.ContainerRunning && life.Outdated(run, c):
		v.end(p, run, v.grace(), "Container "+c.Name+" definition changed, will be restarted")
	case run.State == node.ContainerRunning && v.toEnd(run, c):
		v.end(p, run, v.grace(), "a restart was asked for")
	case run.State == node.ContainerRunning && !run.Inspected:
		p.try(v, node.InspectContainer{Container: c.Name, ID: run.ID})
	case run.State == node.ContainerExited && run.Inspected:
		v.restart(p, c, run)
	}
}

// triedEnough counts the refusals after which a container that stays created is made again.
const triedEnough = 3

// stuck reports whether a container cannot be started any more. One whose start failed on a full disk has lost its pipes
// to the runtime, and no later start succeeds.
func (v *View) stuck(run *node.Container) bool {
	fault := v.got.Faults[node.ContainerTarget(run.Name)]
	return fault.Reason == node.RunContainerError && fault.Count >= triedEnough && fault.At.After(run.CreatedAt)
}

// grace returns the time for the pod's containers to end.
func (v *View) grace() time.Duration { return node.GracePeriod(v.pod.Object) }

// restart begins the run that follows one that has ended, if the pod's rules want one and the pause after a crash is
// over. The restart is journalled before it happens, so that no crash of ours makes the count go back.
func (v *View) restart(p *Plan, c *corev1.Container, run *node.Container) {
	if !v.life.Again(run, c) {
		return
	}
	tally := v.slot.Tallies[c.Name]
	if tally.Restarts > int32(run.Attempt) {
		v.begin(p, c)
		return
	}
	if due := v.due(c, run); v.now.Before(due) {
		p.wait(due, "container "+c.Name+" crashed, its next restart is due at "+due.Format("15:04:05"))
		return
	}
	tally.Restarts = int32(run.Attempt)
	next := tally.Restarted(run.Ran())
	switch {
	case life.Outdated(run, c):
		next.Streak = 0 // another image has not crashed yet
	case !v.life.Crashed(run, c):
		next.Streak = tally.Streak
	}
	if node.InitContainer(v.spec, c.Name) != nil && node.IsSidecar(c) && run.SandboxID == v.sandbox.ID {
		next.Started = v.life.FirstStarted(c)
	}
	p.try(v, node.SetTally{Container: c.Name, Tally: next})
}

// due returns the time at which the next run may follow one that has ended. There is a pause only after a crash whose
// restart was not counted yet.
func (v *View) due(c *corev1.Container, run *node.Container) time.Time {
	tally := v.slot.Tallies[c.Name]
	if tally.Restarts > int32(run.Attempt) || !v.life.Crashed(run, c) {
		return time.Time{}
	}
	return run.FinishedAt.Add(tally.Pause(run.Ran(), v.site.BackoffMax))
}

func remove(run *node.Container) node.Action {
	return node.RemoveContainer{Container: run.Name, ID: run.ID, UID: run.UID, Attempt: run.Attempt}
}

// begin makes the next attempt of a container.
func (v *View) begin(p *Plan, c *corev1.Container) { v.create(p, c, "") }

// create makes the next attempt of a container, once its image and the pod's volumes are there and the pod's cgroup has
// room for it.
func (v *View) create(p *Plan, c *corev1.Container, joins string) {
	image, ok := v.image(c)
	limits := v.limits(c)
	if !ok || !v.inPlace() || !v.bounded() || !v.covered(limits) {
		return // earlier steps work on it
	}
	if v.prepareClaims(p) || v.readyDevices(p, c) {
		return
	}
	p.try(v, node.CreateContainer{
		Container: c.Name, Attempt: v.nextAttempt(c.Name), SandboxID: v.sandbox.ID,
		Image: c.Image, ImageID: image, Hash: manifest.HashIn(v.pod, c), Limits: limits, Joins: joins,
	})
}
