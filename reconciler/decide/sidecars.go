package decide

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/life"
)

// retire ends the sidecars of a pod that is over: they never keep it alive. Their grace period begins when the last of
// the other containers ends. As in Kubernetes, their preStop hooks run beside those of the last containers that a probe
// has condemned.
func retire(p *Plan, v *View) bool {
	switch {
	case v.life.Over():
		return v.stopOwn(p, ending{v.lastEnd().Add(v.grace()), hasFinished})
	case v.life.Ending():
		for c, run := range v.running() {
			if v.rank(c.Name) != v.served() {
				v.preStop(p, run, ending{v.condemnedAt().Add(v.grace()), hasFinished})
			}
		}
	}
	return false
}

// condemnedAt returns when the last of the runs was condemned.
func (v *View) condemnedAt() time.Time {
	var last time.Time
	for _, run := range v.running() {
		if at := v.noted(run).FailedAt; v.noted(run).Failed != "" && at.After(last) {
			last = at
		}
	}
	return last
}

// lastEnd returns the latest end of a run that is no sidecar's.
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

// inTurn reports whether a run may be asked to end. A sidecar goes on for as long as an application container may need
// it, and for as long as the sidecars that started after it.
func (v *View) inTurn(run *node.Container) bool {
	for i := range v.got.Containers {
		c := &v.got.Containers[i]
		if v.own(c.UID) && c.Alive() && v.rank(c.Name) > v.rank(run.Name) {
			return false
		}
	}
	return true
}

// rank orders containers for their end: the greatest rank ends first. All containers but sidecars have the rank served.
func (v *View) rank(name string) int {
	i := slices.IndexFunc(v.spec.InitContainers, func(c corev1.Container) bool { return c.Name == name })
	if i >= 0 && node.IsSidecar(&v.spec.InitContainers[i]) {
		return i
	}
	return v.served()
}

// served returns the rank of the containers that sidecars serve, which is greater than that of any sidecar.
func (v *View) served() int { return len(v.spec.InitContainers) }
