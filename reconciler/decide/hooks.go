package decide

import (
	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// postStart runs the hook of each container that has just begun. The container counts as started only when its hook
// has ended: until then no probe asks it, and whatever waits for it goes on waiting. A new agent repeats a hook whose
// end was not noted. Only the first try may condemn a run: a later one may fail because the first has succeeded.
func postStart(p *Plan, v *View) bool {
	if v.sandbox == nil {
		return false
	}
	for c, run := range v.running() {
		health := v.got.HealthOf(run)
		if node.HookOf(c, node.PostStart) == nil || health.Failed != "" || !health.Hooked.IsZero() || v.toEnd(run, c) {
			continue
		}
		a := v.runHook(node.PostStart, run, c)
		a.Again = !run.Hooks.Fresh
		if !v.asksPod(a) {
			p.try(v, a)
		}
	}
	return false
}

func (v *View) runHook(kind node.HookKind, run *node.Container, c *corev1.Container) node.RunHook {
	a := node.RunHook{
		Kind: kind, UID: run.UID, Container: run.Name, ID: run.ID, Spec: node.HookOf(c, kind), Ports: c.Ports,
	}
	if v.own(run.UID) {
		a.Address, a.HostNetwork = v.address(), v.spec.HostNetwork
	} else if home := v.got.Home(run.UID); home != nil && len(home.IPs) > 0 {
		a.Address = home.IPs[0]
	}
	return a
}

// asksPod reports whether a hook asks the pod at an address that is not known yet. The address is learnt while the pod
// is set up.
func (v *View) asksPod(a node.RunHook) bool {
	return a.Spec.HTTPGet != nil && a.Spec.HTTPGet.Host == "" && a.Address == ""
}

// starting reports whether a container with a postStart hook is about to run, or runs and its hook has not ended. The
// containers behind it in the list wait for that, as in Kubernetes. A container that cannot be made blocks no other.
func (v *View) starting(c *corev1.Container) bool {
	run := v.run(c.Name)
	_, fails := v.got.FaultOf(c.Name)
	switch {
	case node.HookOf(c, node.PostStart) == nil || fails:
		return false
	case run == nil || run.State == node.ContainerCreated:
		return true
	case run.State == node.ContainerExited:
		return !run.Inspected || v.life.Again(run, c) && !v.now.Before(v.due(c, run))
	}
	return !v.life.Hooked(run, c) && v.got.HealthOf(run).Failed == ""
}

// preStop runs the hook that comes before the stop signal, and reports whether the signal has to wait for it. When the
// time is over, the signal no longer waits.
func (v *View) preStop(p *Plan, run *node.Container, e ending) (pending bool) {
	c := v.specOf(run)
	if c == nil || node.HookOf(c, node.PreStop) == nil || run.State != node.ContainerRunning ||
		run.Hooks.Ended || !v.now.Before(e.until) {
		return false
	}
	a := v.runHook(node.PreStop, run, c)
	a.Until, a.Reason = e.until, e.reason
	if home := v.got.Home(run.UID); v.asksPod(a) && home != nil && !home.Inspected {
		v.inspectHome(p, home)
	} else {
		p.try(v, a)
	}
	p.wait(e.until, "waiting for the preStop hook of container "+run.Name)
	return true
}

// specOf returns the spec that a run was made from. For another pod's run it is the part that was noted on the run for
// its end.
func (v *View) specOf(run *node.Container) *corev1.Container {
	if !v.own(run.UID) {
		return run.Hooked
	}
	for c := range v.containers() {
		if c.Name == run.Name {
			return c
		}
	}
	return nil
}
