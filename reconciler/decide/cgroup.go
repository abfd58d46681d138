package decide

import (
	"nodal/node"
)

// cgroup sets up the pod's own cgroup before anything is in it, with the limits for all containers together. An agent
// that starts cannot know whether the limits are still the same, so it sets them once more.
func cgroup(p *Plan, v *View) bool {
	if !v.site.Cgroups || v.sandbox == nil && !v.needsSandbox() {
		return false
	}
	have, there := v.got.Part(node.Cgroup, "")
	want := v.site.LimitsOfPod(v.pod, v.object)
	if there && v.holds() {
		want = want.Over(have.Limits) // it grows before what is in it, and shrinks after
	}
	if !there || have.Limits != want {
		p.try(v, node.SetUpCgroup(want))
	}
	return false
}

// bounded reports whether the pod's cgroup is there, so that its limits hold for what runs in the pod.
func (v *View) bounded() bool {
	_, there := v.got.Part(node.Cgroup, "")
	return there || !v.site.Cgroups
}
