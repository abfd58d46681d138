package status

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// startingOver is the condition of pods of which all containers may restart at once:
// true while runs from before that are there.
func (d *deriver) startingOver() []corev1.PodCondition {
	if !d.mayStartOver() {
		return nil
	}
	since, goesOn := d.pod.Accepted, false
	for c := range d.life.Containers() {
		for _, run := range d.runs(c.Name) {
			if d.life.Outlived(run) {
				since = later(since, run.FinishedAt)
				goesOn = goesOn || run.Alive()
			}
		}
	}
	c := d.condition(corev1.AllContainersRestarting, goesOn, since)
	if goesOn {
		c.Reason, c.Message = "RestartAllContainersStarted", "container exited with restart policy rule"
	}
	return []corev1.PodCondition{c}
}

// mayStartOver says whether a rule of a container can have all restart.
func (d *deriver) mayStartOver() bool {
	for c := range d.life.Containers() {
		if slices.ContainsFunc(c.RestartPolicyRules, func(r corev1.ContainerRestartRule) bool {
			return r.Action == corev1.ContainerRestartRuleActionRestartAllContainers
		}) {
			return true
		}
	}
	return false
}

// wasInitialised says whether the pod has come to its application before it started
// over. Kubernetes never takes that back.
func (d *deriver) wasInitialised() bool {
	return slices.ContainsFunc(d.pod.Restarts, func(r node.Restart) bool {
		return r.All && node.InitContainer(d.spec, r.Container) == nil
	})
}
