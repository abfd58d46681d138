package decide

import (
	"time"

	"nodal/node"
)

// Kubernetes' words for a pod that has been active for too long.
const (
	deadlineExceeded = "DeadlineExceeded"
	deadlineMessage  = "Pod was active on the node longer than the specified deadline"
)

// deadline ends a pod that has been active for as long as it may, counted from its start time. The decision is
// journalled before anything ends, so that it stands if the agent dies meanwhile or the clock goes back. A pod that
// has finished keeps its result.
func deadline(p *Plan, v *View) bool {
	seconds := v.spec.ActiveDeadlineSeconds
	if seconds == nil || v.life.Over() || v.learning() {
		return false
	}
	due := v.pod.Begun().Add(time.Duration(*seconds) * time.Second)
	if v.now.Before(due) {
		p.wait(due, "")
		return false
	}
	p.try(v, node.SetTermination{Termination: node.Termination{
		Requested: v.now, Reason: deadlineExceeded, Message: deadlineMessage,
	}})
	return true
}

// terminated ends the containers of a pod that has to end, within its grace period, and records that the pod has
// failed, or that it is halted.
func terminated(p *Plan, v *View) bool {
	t := v.slot.Termination
	if t == nil {
		return false
	}
	switch {
	case v.stopOwn(p, ending{t.Deadline(v.pod), t.Reason}):
	case t.Returns:
		v.halt(p, t)
	default:
		settle(p, v)
	}
	p.why(t.Message)
	return true
}

// halt brings a pod to rest that runs again once the machine is back: its sandboxes end, and its volumes stay.
func (v *View) halt(p *Plan, t *node.Termination) {
	if t.Halted || p.looks() || !v.ended() || v.stopSandboxesOf(p, v.own) {
		return
	}
	p.try(v, node.SetHalted{})
}
