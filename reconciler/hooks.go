package reconciler

import (
	"nodal/node"
)

// endHook notes how a hook ended. A hook whose outcome is unknown is run again: a hook runs at least once.
func endHook(got *node.Observed, a node.RunHook, o Outcome) {
	run := containerByID(got, a.ID)
	if run == nil {
		return
	}
	known := o.Err == nil || failureOf(o.Err) != nil
	if a.Kind == node.PreStop {
		run.Hooks.Until, run.Hooks.Reason, run.Hooks.Ended = a.Until, a.Reason, known
		return
	}
	run.Hooks.Fresh = false
	if known && got.Newest(run.UID, run.Name) == run {
		health := got.HealthOf(run)
		if o.Err == nil || a.Again {
			health.Hooked = o.Now
		} else {
			health.Failed, health.FailedAt = node.FailedHook, o.Now
		}
		setHealth(got, run.Name, health)
	}
}

func isHook(a node.Action) bool {
	_, ok := a.(node.RunHook)
	return ok
}

// mayBeGivenUp reports whether an action in flight may be cancelled, and begun again later.
func mayBeGivenUp(a node.Action) bool { return a.About().Nature == node.Slow && !isHook(a) }

// pointless reports whether an action is a hook of a run that has ended, or a postStart hook of a pod that is to end.
func (t *Track) pointless(a node.Action) bool {
	hook, ok := a.(node.RunHook)
	if !ok {
		return false
	}
	run := containerByID(t.got, hook.ID)
	ends := t.slot.Pod.Deletion != nil || t.slot.Termination != nil
	return run == nil || !run.Alive() || hook.Kind == node.PostStart && ends
}
