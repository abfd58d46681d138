package decide

import (
	"slices"

	"nodal/node"
)

// learn asks how runs ended, which only a status call tells: of every run that
// decides what comes next or that readers are shown. It is asked until it is
// known, however often that fails; an agent that starts asks for the old runs.
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

// leaveAlone learns what readers are shown of a pod, and does nothing about it: what a newer
// agent has recorded of it may mean that no other step is right.
func leaveAlone(p *Plan, v *View) bool {
	learn(p, v)
	if v.sandbox != nil {
		v.inspectHome(p, v.sandbox)
	}
	p.why("a newer agent wrote its record")
	return true
}

// noteLost journals which runs have vanished, for the next start of the agent: it finds
// nothing of them, and would take for not begun what has ended.
func noteLost(p *Plan, v *View) bool {
	var lost []node.Container
	news := false
	for _, run := range v.got.Lost {
		if v.own(run.UID) {
			lost = append(lost, run)
			news = news || !slices.ContainsFunc(v.slot.Lost, func(noted node.Container) bool { return noted.ID == run.ID })
		}
	}
	if news {
		p.try(v, node.SetLost{Lost: lost})
	}
	return false
}

// learning says whether it is still unknown how the newest run of a container ended.
func (v *View) learning() bool {
	for c := range node.EveryContainer(v.spec) {
		if run := v.life.Ran(c.Name); run != nil && unlearnt(run) {
			return true
		}
	}
	return false
}

// unlearnt reports whether a run has ended in a way that is not known yet.
func unlearnt(run *node.Container) bool {
	return run.State == node.ContainerExited && !run.Inspected
}
