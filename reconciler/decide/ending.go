package decide

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/life"
)

// ending says by when something has to end, and why.
type ending struct {
	until  time.Time
	reason string
}

func (v *View) within(grace time.Duration, reason string) ending {
	return ending{v.now.Add(grace), reason}
}

// end asks a run to end within a grace period. Its preStop hook comes first, then the stop signal. Once the hook has
// begun, the time for the end is fixed.
func (v *View) end(p *Plan, run *node.Container, grace time.Duration, reason string) {
	e := v.within(grace, reason)
	if begun, ok := v.endOf(run); ok {
		e = begun
	}
	if !v.preStop(p, run, e) {
		v.stop(p, run, e)
	}
}

func (v *View) stop(p *Plan, run *node.Container, e ending) {
	p.try(v, node.StopContainer{Container: run.Name, ID: run.ID, Grace: max(0, e.until.Sub(v.now)), Reason: e.reason})
}

// endOf returns the ending that a run's preStop hook has begun. The application may have closed its doors since, so the
// run ends even if it is wanted again.
func (v *View) endOf(run *node.Container) (e ending, begun bool) {
	e = ending{run.Hooks.Until, run.Hooks.Reason}
	if a, busy := v.busy[node.HookTarget(node.PreStop, run.ID)].(node.RunHook); busy {
		e = ending{a.Until, a.Reason}
	}
	return e, !e.until.IsZero()
}

// toEnd reports whether a run is no longer wanted, for a reason other than its health.
func (v *View) toEnd(run *node.Container, c *corev1.Container) bool {
	_, begun := v.endOf(run)
	return begun || life.Outdated(run, c) || v.life.Asked(run)
}

// stopOwn ends all of the pod's containers, and reports whether one is still alive.
func (v *View) stopOwn(p *Plan, e ending) bool {
	return v.stopAll(p, v.own, func(run *node.Container) { v.stopInTurn(p, run, e) })
}

// stopAll stops every live container of the pods that mine names, and reports whether there is one. It inspects the
// others while the runtime still knows how they ended.
func (v *View) stopAll(p *Plan, mine func(types.UID) bool, stop func(run *node.Container)) bool {
	waiting := false
	for i := range v.got.Containers {
		c := &v.got.Containers[i]
		switch {
		case !mine(c.UID):
		case c.Alive():
			waiting = true
			stop(c)
		default:
			v.inspect(p, c)
		}
	}
	if waiting {
		p.why("waiting for containers to end")
	}
	return waiting
}

// stopInTurn ends a run of a pod that has to go. All preStop hooks run at once, even those of sidecars that get their
// signal later.
func (v *View) stopInTurn(p *Plan, run *node.Container, e ending) {
	switch {
	case v.preStop(p, run, e):
	case v.now.Before(e.until) && !v.inTurn(run):
		p.wait(e.until, "sidecar "+run.Name+" ends after what it serves")
	default:
		v.stop(p, run, e)
	}
}
