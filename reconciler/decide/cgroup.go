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
	want, have := v.site.LimitsOfPod(v.pod, v.object), v.got.Cgroup
	if have != nil && v.holds() {
		want = want.Over(*have) // it grows before what is in it, and shrinks after
	}
	if have == nil || *have != want {
		p.try(v, node.SetUpCgroup{Limits: want})
	}
	return false
}

// bounded says whether what runs in the pod would be held to its limits.
func (v *View) bounded() bool { return !v.site.Cgroups || v.got.Cgroup != nil }

// tearDownCgroup removes the cgroup, once the runtime has nothing in it any more.
// What is still in there is ended: it would hold on to the volumes.
func tearDownCgroup(p *Plan, v *View) bool {
	if !v.site.Cgroups || v.got.CgroupGone {
		return false
	}
	p.try(v, node.TearDownCgroup{})
	return true
}
