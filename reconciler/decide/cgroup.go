package decide

import (
	"nodal/node"
)

// cgroup has the pod's own cgroup made, with the limits of all that will be in it
// together, before anything is. An agent that starts cannot know whether the limits
// are still those, so it has them set once more.
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

// bounded reports whether what runs in the pod would be held to its limits.
func (v *View) bounded() bool {
	_, there := v.got.Part(node.Cgroup, "")
	return there || !v.site.Cgroups
}
