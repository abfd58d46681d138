package decide

import (
	"slices"

	"nodal/node"
)

// learn inspects runs that have ended, because only a status call shows how. It does so for every run that decides what
// comes next, or that readers are shown. It repeats the call until it succeeds. An agent that starts inspects the old
// runs.
func learn(p *Plan, v *View) bool {
	for c := range node.EveryContainer(v.spec) {
		for _, run := range []*node.Container{v.run(c.Name), v.got.Previous(v.pod.UID(), c.Name)} {
			if run != nil && unlearnt(run) {
				p.try(v, node.InspectContainer{Container: c.Name, ID: run.ID})
			}
		}
	}
	return false
}

// leaveAlone learns what readers are shown of a pod, and does nothing else: the record of a newer agent may forbid any
// other step.
func leaveAlone(p *Plan, v *View) bool {
	learn(p, v)
	if v.sandbox != nil {
		v.inspectHome(p, v.sandbox)
	}
	p.why("a newer agent wrote its record")
	return true
}

// noteLost journals which runs have vanished, for the next start of the agent. That agent finds nothing of them, and
// would begin such containers as if they had never run.
func noteLost(p *Plan, v *View) bool {
	var lost []node.Container
	news := false
	for _, run := range v.got.Lost {
		if v.own(run.UID) {
			lost = append(lost, run)
			same := func(noted node.Container) bool { return noted.ID == run.ID }
			news = news || !slices.ContainsFunc(v.slot.Lost, same)
		}
	}
	if news {
		p.try(v, node.SetLost{Lost: lost})
	}
	return false
}

// learning reports whether it is still unknown how the newest run of some container ended.
func (v *View) learning() bool {
	for c := range node.EveryContainer(v.spec) {
		if run := v.life.Ran(c.Name); run != nil && unlearnt(run) {
			return true
		}
	}
	return false
}

// unlearnt reports whether a run has ended and was not inspected since.
func unlearnt(run *node.Container) bool {
	return run.State == node.ContainerExited && !run.Inspected
}
