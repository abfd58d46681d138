package decide

import (
	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/life"
	"nodal/node/limit"
)

// resize gives running containers the limits that the node allows them now. A container that has to restart for other
// limits gets them with its next run.
func resize(p *Plan, v *View) bool {
	if v.unheard {
		return false // its source may have changed the limits meanwhile
	}
	for c := range node.EveryContainer(v.spec) {
		run := v.current(c.Name)
		if limits := v.limits(c); v.behind(run, c) && v.covered(limits) {
			p.try(v, node.ResizeContainer{Container: c.Name, ID: run.ID, Limits: limits})
		}
	}
	return false
}

// limits returns the node's limits for a container.
func (v *View) limits(c *corev1.Container) limit.Limits {
	return v.site.LimitsOf(v.pod, v.object, c)
}

// behind reports whether a run goes on and needs other limits.
func (v *View) behind(run *node.Container, c *corev1.Container) bool {
	return run != nil && run.State == node.ContainerRunning && !life.Outdated(run, c) && !v.life.Asked(run) &&
		v.pod.Behind(run, v.limits(c))
}

// covered reports whether the pod's cgroup has room for a container's limits, or could not be changed: the container's
// old limits may be what prevents that.
func (v *View) covered(limits limit.Limits) bool {
	if have, ok := v.got.Part(node.Cgroup, ""); ok || !v.site.Cgroups {
		return !ok || have.Limits.Cover(limits)
	}
	_, failed := v.got.Faults[node.CgroupTarget()]
	return failed
}

// holds reports whether a container may still have more than its limits, so that the pod's cgroup may not shrink yet.
func (v *View) holds() bool {
	for c := range v.containers() {
		if run := v.current(c.Name); run != nil && run.Alive() && (v.life.Asked(run) || v.behind(run, c)) {
			return true
		}
	}
	return false
}
