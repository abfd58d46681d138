package decide

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/life"
)

// postStart runs the hook of each container that has just begun. Until it has
// ended the container has not started: no probe asks it, and nothing goes on that
// waits for it. A run that the agent finds when it starts, and of which nobody has
// noted that its hook had ended, has its hook run again; only the first try may
// condemn a run, because a later one may fail for the success of the first.
func postStart(p *Plan, v *View) bool {
	for c := range v.containers() {
		run, hook := v.current(c.Name), node.HookOf(c, node.PostStart)
		if hook == nil || run == nil || v.sandbox == nil || run.State != node.ContainerRunning || v.toEnd(run, c) {
			continue
		}
		if health := v.got.HealthOf(run); health.Failed != "" || !health.Hooked.IsZero() {
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

// toEnd says whether a run is wanted no longer, for a reason other than its health.
func (v *View) toEnd(run *node.Container, c *corev1.Container) bool {
	_, ending := v.ending(run)
	return ending || life.Outdated(run, c) || v.life.Asked(run)
}

func (v *View) runHook(kind node.HookKind, run *node.Container, c *corev1.Container) node.RunHook {
	a := node.RunHook{Kind: kind, UID: run.UID, Container: run.Name, ID: run.ID, Spec: node.HookOf(c, kind), Ports: c.Ports}
	if v.own(run.UID) {
		a.Address, a.HostNetwork = v.address(), v.spec.HostNetwork
	} else if home := v.got.Home(run.UID); home != nil && len(home.IPs) > 0 {
		a.Address = home.IPs[0]
	}
	return a
}

// asksPod says whether a hook asks the pod at an address that is not known yet. While
// the pod is set up that is being learnt.
func (v *View) asksPod(a node.RunHook) bool {
	return a.Spec.HTTPGet != nil && a.Spec.HTTPGet.Host == "" && a.Address == ""
}

// starting says whether a container with a postStart hook is about to run, or runs
// and its hook has not ended: those after it in the list wait for that, as they do
// in Kubernetes. One that cannot be made keeps nobody waiting.
func (v *View) starting(c *corev1.Container) bool {
	run := v.run(c.Name)
	switch {
	case node.HookOf(c, node.PostStart) == nil || v.fails(c):
		return false
	case run == nil || run.State == node.ContainerCreated:
		return true
	case run.State == node.ContainerExited:
		return !run.Inspected || !v.stays(c, run) && !v.now.Before(v.due(c, run))
	}
	return !v.life.Hooked(run, c) && v.got.HealthOf(run).Failed == ""
}

// fails says whether the last try to make or start a container failed.
func (v *View) fails(c *corev1.Container) bool {
	_, image := v.got.Faults[node.ImageTarget(c.Name)]
	_, container := v.got.Faults[node.ContainerTarget(c.Name)]
	return image || container
}

// end asks a run to end within a grace period: its preStop hook comes first, then
// the stop signal. Once the hook was begun the time is set.
func (v *View) end(p *Plan, run *node.Container, grace time.Duration, reason string) {
	until := v.now.Add(grace)
	if begun, ok := v.ending(run); ok {
		until, reason = begun.Until, begun.Reason
	}
	if !v.preStop(p, run, until, reason) {
		v.stop(p, run, until, reason)
	}
}

func (v *View) stop(p *Plan, run *node.Container, until time.Time, reason string) {
	p.try(v, node.StopContainer{Container: run.Name, ID: run.ID, Grace: max(0, until.Sub(v.now)), Reason: reason})
}

// preStop runs the hook that comes before the stop signal, and says whether that
// has to wait for it. When the time is over nothing is waited for.
func (v *View) preStop(p *Plan, run *node.Container, until time.Time, reason string) (pending bool) {
	c := v.specOf(run)
	if c == nil || node.HookOf(c, node.PreStop) == nil || run.State != node.ContainerRunning ||
		run.Hooks.Ended || !v.now.Before(until) {
		return false
	}
	a := v.runHook(node.PreStop, run, c)
	a.Until, a.Reason = until, reason
	if home := v.got.Home(run.UID); v.asksPod(a) && home != nil && !home.Inspected {
		v.inspectHome(p, home)
	} else {
		p.try(v, a)
	}
	p.wait(until, "waiting for the preStop hook of container "+run.Name)
	return true
}

// ending is how a run's end was begun by its preStop hook, if it was. The
// application may have closed its doors since: the run ends, even if it is wanted again.
func (v *View) ending(run *node.Container) (begun node.Hooks, ok bool) {
	begun = run.Hooks
	if a, busy := v.got.Busy[node.HookTarget(node.PreStop, run.ID)].(node.RunHook); busy {
		begun.Until, begun.Reason = a.Until, a.Reason
	}
	return begun, !begun.Until.IsZero()
}

// specOf is what a run was made from; of another pod's, what was noted on it for
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
