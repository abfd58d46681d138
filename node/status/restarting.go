package status

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// startingOver derives the condition of pods whose containers may all restart at once: true while
// earlier runs go on. These get no time to end, so both changes of the condition have the same
// time.
func (d *deriver) startingOver() []corev1.PodCondition {
	if !d.mayStartOver() {
		return nil
	}
	since, goesOn := d.pod.Begun(), false
	for _, r := range d.pod.Restarts {
		since = later(since, r.At)
	}
	for c := range d.life.Containers() {
		goesOn = goesOn || slices.ContainsFunc(d.runs(c.Name), func(run *node.Container) bool { return run.Alive() && d.life.Outlived(run) })
	}
	c := d.condition(corev1.AllContainersRestarting, goesOn, since)
	if goesOn {
		c.Reason, c.Message = "RestartAllContainersStarted", "container exited with restart policy rule"
	}
	return []corev1.PodCondition{c}
}

// mayStartOver reports whether a rule of a container can restart all of them.
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

// wasInitialised reports whether the application had begun before the pod started over. Kubernetes
// never takes that condition back.
func (d *deriver) wasInitialised() bool {
	return slices.ContainsFunc(d.pod.Restarts, func(r node.Restart) bool {
		return r.All && node.InitContainer(d.spec, r.Container) == nil
	})
}
