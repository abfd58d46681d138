package decide

import (
	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// ephemeral starts the containers that were added to the pod, each once, whatever else the pod does. Each begin is
// journalled before it happens, so that no container begins again: not after its end, and not when nothing is left of
// it.
func ephemeral(p *Plan, v *View) bool {
	if v.sandbox == nil || v.life.Over() {
		return false
	}
	for c := range node.EphemeralContainers(v.spec) {
		if run := v.run(c.Name); run != nil {
			v.driveOnce(p, run)
		} else if !v.begun(c) {
			v.join(p, c)
		}
	}
	return false
}

// begun reports whether an ephemeral container was started, or is about to be.
func (v *View) begun(c *corev1.Container) bool { return v.slot.Tallies[c.Name].Begun }

// driveOnce adds the next step of a container's only run.
func (v *View) driveOnce(p *Plan, run *node.Container) {
	switch {
	case run.State == node.ContainerCreated && run.SandboxID != v.sandbox.ID:
		p.try(v, remove(run))
	case run.State == node.ContainerCreated && !v.slot.Tallies[run.Name].Begun:
		p.try(v, node.SetTally{Container: run.Name, Tally: node.Tally{Begun: true}})
	case run.State == node.ContainerCreated:
		p.try(v, node.StartContainer{Container: run.Name, ID: run.ID})
	case run.State == node.ContainerUnknown:
		v.end(p, run, v.grace(), "its state is unknown")
	case run.State == node.ContainerRunning && !run.Inspected:
		p.try(v, node.InspectContainer{Container: run.Name, ID: run.ID})
	}
}

// join makes an ephemeral container. One with a target shares the processes of that container, once it runs.
func (v *View) join(p *Plan, c *corev1.Container) {
	target := node.EphemeralContainer(v.spec, c.Name).TargetContainerName
	if target == "" {
		v.create(p, c, "")
		return
	}
	run := v.current(target)
	if run == nil || run.State != node.ContainerRunning {
		p.why("ephemeral container " + c.Name + " waits for container " + target + " to run")
		return
	}
	v.create(p, c, run.ID)
}
