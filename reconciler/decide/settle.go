package decide

import (
	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/status"
)

// prune removes runs that no reader needs any more. The newest run of each
// container and the one before it stay: their logs and exit codes are asked for.
func prune(p *Plan, v *View) bool {
	seen, inSandbox := map[string]int{}, map[string]int{}
	for i := range v.got.Containers {
		c := &v.got.Containers[i]
		inSandbox[c.SandboxID]++
		if seen[c.Name]++; seen[c.Name] > 2 && !c.Alive() {
			p.try(v, remove(c))
		}
	}
	for i := range v.got.Sandboxes {
		s := &v.got.Sandboxes[i]
		if i > 0 && s != v.sandbox && s.Stopped && inSandbox[s.ID] == 0 {
			p.try(v, node.RemoveSandbox{ID: s.ID})
		}
	}
	return false
}

// settle records the final status of a pod whose containers have all ended
// for good. From then on the phase never changes.
func settle(p *Plan, v *View) bool {
	if len(p.Actions) > 0 || !v.life.Over() || !v.ended() {
		return false
	}
	final := status.Of(v.site, v.slot, v.got)
	if final.Phase == corev1.PodSucceeded || final.Phase == corev1.PodFailed {
		p.try(v, node.SetResult{Status: &final})
	}
	return false
}

// ended says whether nothing runs or is about to, and how the last runs ended
// is known.
func (v *View) ended() bool {
	for i := range v.got.Containers {
		c := &v.got.Containers[i]
		if c.Alive() { // what was only made, and cannot start any more, is no hindrance
			return false
		}
	}
	for _, a := range v.got.Busy {
		if _, ok := a.(node.RunHook); !ok { // a hook of what has ended changes nothing
			return false
		}
	}
	return !v.learning()
}
