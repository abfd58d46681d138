package decide

import (
	"nodal/node"
	"nodal/node/life"
)

// startOver restarts all containers of the pod, init containers first and in the same sandbox, when the rules of one
// that has ended say so. The runs that have to end are journalled. Then they end, all at once and without a grace
// period, before any container begins.
func startOver(p *Plan, v *View) bool {
	if name := v.trigger(); name != "" {
		p.try(v, node.StartOver{Container: name, Restarts: v.allRuns(name)})
		return true
	}
	waiting := false
	for i := range v.got.Containers {
		run := &v.got.Containers[i]
		switch {
		case !v.own(run.UID) || !v.life.Outlived(run):
		case run.Alive():
			waiting = true
			p.try(v, node.StopContainer{Container: run.Name, ID: run.ID, Reason: "all containers of the pod restart"})
		case run.State == node.ContainerCreated:
			waiting = true
			p.try(v, remove(run))
		}
	}
	return waiting
}

// trigger returns a container whose end makes all containers restart, or "" if there is none.
func (v *View) trigger() string {
	if v.learning() || v.life.Over() {
		return ""
	}
	for c := range v.containers() {
		run := v.run(c.Name)
		counts := life.Known(run) && !life.Outdated(run, c) && !v.life.Asked(run)
		if counts && v.life.After(run, c) == node.AllContainers {
			return c.Name
		}
	}
	return ""
}

// allRuns returns the newest runs of all containers, and marks that of the cause.
func (v *View) allRuns(cause string) []node.Restart {
	var runs []node.Restart
	for c := range v.containers() {
		if run := v.run(c.Name); run != nil {
			runs = append(runs, node.Restart{
				Container: c.Name, Attempt: run.Attempt, All: true, Cause: c.Name == cause, At: v.now,
			})
		}
	}
	return runs
}
