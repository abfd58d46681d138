package decide

import "nodal/node"

// prepareClaims has the devices of the pod's resource claims prepared, and reports whether that has to be waited for.
// It comes before the sandbox, as in Kubernetes: drivers of networks put devices into that.
func (v *View) prepareClaims(p *Plan) (pending bool) {
	if v.pod.ClaimsPrepared(v.site.Boot) {
		return false
	}
	if !p.plans(node.ClaimsTarget()) {
		p.try(v, node.PrepareClaims{Boot: v.site.Boot})
	}
	p.why("waiting for the devices of its resource claims")
	return true
}

// unprepareClaims has drivers take back the devices of the pod's resource claims, and reports whether that has to be
// waited for. Nothing of the pod runs any more. Its sandboxes end first, because there may be devices in them.
func (v *View) unprepareClaims(p *Plan) (pending bool) {
	switch {
	case !v.pod.HoldsClaims():
		return false
	case v.stopSandboxesOf(p, v.own):
		return true
	}
	p.try(v, node.UnprepareClaims{})
	p.why("waiting until the devices of its resource claims are taken back")
	return true
}

// unprepare is the step that takes back what was prepared for a pod that has to go.
func unprepare(p *Plan, v *View) bool { return v.unprepareClaims(p) }
