package decide

import (
	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// readyDevices has the devices of a container made ready for its next run, and reports whether that has to be waited
// for. The answer of their plugins counts for one sandbox: until there is another, a container starts again without
// them, unless one of them wants to be asked before each start.
func (v *View) readyDevices(p *Plan, c *corev1.Container) (pending bool) {
	if len(v.pod.Shares[c.Name].Devices) == 0 {
		return false
	}
	attempt := v.nextAttempt(c.Name)
	if grant, ok := v.pod.Grants[c.Name]; ok && grant.Sandbox == v.sandbox.ID {
		if readied, ok := v.got.Readied[c.Name]; len(grant.PreStart) == 0 || ok && readied == attempt {
			return false
		}
	}
	p.try(v, node.ReadyDevices{Container: c.Name, Attempt: attempt, SandboxID: v.sandbox.ID})
	return true
}
