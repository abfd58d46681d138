package decide

import "nodal/node"

// tearDown returns the step that removes a facility of the pod, once nothing uses it any more. Processes that are left
// in it are ended: they would hold on to the facility that goes next.
func tearDown(f node.Facility) Step {
	return func(p *Plan, v *View) bool {
		if v.got.Laid[f].Gone || f == node.Cgroup && !v.site.Cgroups {
			return false
		}
		for _, a := range v.busy {
			if begun, ok := a.(node.SetUp); ok && begun.Facility == f {
				p.why("waiting until this has ended: " + begun.String())
				return true
			}
		}
		p.try(v, node.TearDown{Facility: f})
		return true
	}
}
