package decide

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/life"
)

// retire ends the sidecars of a pod that is over: they never keep it alive. They
// have what the last of the others to end has left of the grace period.
func retire(p *Plan, v *View) bool {
	if !v.life.Over() {
		return false
	}
	return v.stopOwn(p, ending{v.lastEnd().Add(v.grace()), hasFinished})
}

// lastEnd is when the latest run ended of those that are no sidecars.
func (v *View) lastEnd() time.Time {
	var last time.Time
	for c := range v.containers() {
		run := v.run(c.Name)
		if v.rank(c.Name) == v.served() && life.Known(run) && run.FinishedAt.After(last) {
			last = run.FinishedAt
		}
	}
	if last.IsZero() || last.After(v.now) {
		return v.now
	}
	return last
}

// inTurn says whether a run may be asked to end: a sidecar goes on for as long
// as an application container may need it, and for as long as the sidecars that
// were started after it.
func (v *View) inTurn(run *node.Container) bool {
	for i := range v.got.Containers {
		c := &v.got.Containers[i]
		if v.own(c.UID) && c.Alive() && v.rank(c.Name) > v.rank(run.Name) {
			return false
		}
	}
	return true
}

// rank orders containers for their end: the greatest ends first. What is no
// sidecar has the rank of what sidecars serve.
func (v *View) rank(name string) int {
	i := slices.IndexFunc(v.spec.InitContainers, func(c corev1.Container) bool { return c.Name == name })
	if i >= 0 && node.IsSidecar(&v.spec.InitContainers[i]) {
		return i
	}
	return v.served()
}

// served is the rank of what sidecars serve: greater than that of any of them.
func (v *View) served() int { return len(v.spec.InitContainers) }
