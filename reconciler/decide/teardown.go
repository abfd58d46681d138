package decide

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// The teardown steps mirror the set-up: containers end before their sandbox, and the sandbox before its removal.
// Cgroup, volumes and logs go after them, and only then the name is free.

func (v *View) own(uid types.UID) bool { return uid == v.pod.UID() }

func stopContainers(p *Plan, v *View) bool {
	return v.stopOwn(p, ending{v.pod.Deletion.Deadline(), v.pod.Deletion.Reason})
}

func stopSandboxes(p *Plan, v *View) bool {
	return v.stopSandboxesOf(p, v.own)
}

func removeSandboxes(p *Plan, v *View) bool {
	return v.removeAll(p, v.own)
}

// forget frees the name once nothing is left on the machine.
func forget(p *Plan, v *View) bool {
	p.try(v, node.Release{})
	return true
}

func (v *View) stopSandboxesOf(p *Plan, mine func(types.UID) bool) bool {
	waiting := false
	for i := range v.got.Sandboxes {
		s := &v.got.Sandboxes[i]
		if mine(s.UID) && !s.Stopped {
			waiting = true
			p.try(v, node.StopSandbox{ID: s.ID})
		}
	}
	return waiting
}

// removeAll removes sandboxes with their containers, and containers whose sandbox is lost. It reports whether there are
// any.
func (v *View) removeAll(p *Plan, mine func(types.UID) bool) bool {
	if p.looks() {
		return true // the runtime must still show how containers ended
	}
	waiting, covered := false, map[string]bool{}
	for i := range v.got.Sandboxes {
		if s := &v.got.Sandboxes[i]; mine(s.UID) {
			waiting, covered[s.ID] = true, true
			p.try(v, node.RemoveSandbox{ID: s.ID})
		}
	}
	for i := range v.got.Containers {
		if c := &v.got.Containers[i]; mine(c.UID) && !covered[c.SandboxID] {
			waiting = true
			p.try(v, remove(c))
		}
	}
	return waiting
}

// inspect adds an inspection of a container whose pod is being removed, if there was none. It is not repeated after a
// failure.
func (v *View) inspect(p *Plan, c *node.Container) {
	a := node.InspectContainer{Container: c.Name, ID: c.ID}
	_, failed := v.got.Faults[a.Target()]
	if !c.Inspected && !failed && c.State != node.ContainerCreated && !slices.Contains(p.Actions, node.Action(a)) {
		p.add(a)
	}
}
