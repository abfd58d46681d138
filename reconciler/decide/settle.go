package decide

import (
	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/status"
)

// hasFinished is the reason for ending the sidecars and sandboxes of a pod that has finished.
const hasFinished = "the pod has finished"

// settled keeps a finished pod at rest: nothing runs, its cgroup and volumes are gone, and its containers and logs stay
// until it is deleted, or until the node's disk runs short.
func settled(p *Plan, v *View) bool {
	if v.slot.Result == nil {
		return false
	}
	switch {
	case v.stopOwn(p, v.within(v.grace(), hasFinished)), v.stopSandboxesOf(p, v.own), v.unprepareClaims(p):
	case tearDown(node.Cgroup)(p, v), tearDown(node.Volumes)(p, v):
	case v.scarce && !v.removeAll(p, v.own):
		tearDown(node.Logs)(p, v)
	}
	p.why(hasFinished)
	return true
}

// settle records the final status of a pod whose containers have all ended for good. From then on the phase never
// changes. A cluster may give the devices of its claims to other pods then, so they are taken back before.
func settle(p *Plan, v *View) bool {
	if p.looks() || !v.life.Over() || !v.ended() {
		return false
	}
	if v.unprepareClaims(p) {
		return false
	}
	final := status.Of(v.site, v.slot, v.got)
	if final.Phase == corev1.PodSucceeded || final.Phase == corev1.PodFailed {
		p.try(v, node.SetResult{Status: &final})
	}
	return false
}

// ended reports whether nothing runs or is about to, and whether the last runs were inspected.
func (v *View) ended() bool {
	for i := range v.got.Containers {
		c := &v.got.Containers[i]
		if c.Alive() { // a created container does not count: it cannot start any more
			return false
		}
	}
	for _, a := range v.busy {
		if _, ok := a.(node.RunHook); !ok { // the hook of a run that has ended changes nothing
			return false
		}
	}
	return !v.learning()
}
