package decide

import "nodal/node"

// sandbox keeps exactly one ready sandbox for as long as a container has to run in it. A lost sandbox is stopped before
// the next attempt, because it may still hold the pod's address and ports. A pod that starts after others gets no sandbox
// before they are ready, and nothing else is prepared for it: its image may come from one of them.
func sandbox(p *Plan, v *View) bool {
	if v.stopOutside(p) || v.stopSpare(p) {
		return true
	}
	if v.sandbox != nil {
		v.inspectHome(p, v.sandbox)
		if v.needsSandbox() { // another kubelet may have had its claims prepared, which this one has to take back
			v.prepareClaims(p)
		}
		return false
	}
	switch {
	case !v.needsSandbox():
		return false
	case v.trails(p):
		return true
	case !v.bounded(), v.prepareClaims(p):
		return false
	}
	attempt := uint32(0)
	if last := v.got.NewestSandbox(v.pod.UID()); last != nil {
		attempt = last.Attempt + 1
	}
	p.try(v, node.RunSandbox{Attempt: attempt})
	return false
}

// inspectHome inspects a sandbox for the pod's addresses.
func (v *View) inspectHome(p *Plan, home *node.Sandbox) {
	a := node.InspectSandbox{ID: home.ID}
	if !home.Inspected && !p.plans(a.Target()) {
		p.try(v, a)
	}
}

// stopOutside ends containers that outlived their sandbox, and reports whether there are any.
func (v *View) stopOutside(p *Plan) bool {
	waiting := false
	for i := range v.got.Containers {
		c := &v.got.Containers[i]
		if c.Alive() && (v.sandbox == nil || c.SandboxID != v.sandbox.ID) {
			waiting = true
			v.end(p, c, v.grace(), "its sandbox is gone")
		}
	}
	return waiting
}

// stopSpare stops every sandbox but the present one, and reports whether to wait for one. A ready one is waited for,
// and so is one that may hold the address or ports of the next.
func (v *View) stopSpare(p *Plan) bool {
	waiting := false
	for i := range v.got.Sandboxes {
		s := &v.got.Sandboxes[i]
		if s != v.sandbox && !s.Stopped {
			waiting = waiting || v.sandbox == nil || s.State == node.SandboxReady
			p.try(v, node.StopSandbox{ID: s.ID})
		}
	}
	return waiting
}

// needsSandbox reports whether any container still has to run. That depends on how the runs ended, so it is false until
// they were inspected.
func (v *View) needsSandbox() bool {
	return !v.learning() && !v.life.Over()
}
