package reconciler

import (
	"nodal/node"
)

// presumed returns the health of a pod's runs when its track begins. A static pod that ran before it had a record was
// begun by another kubelet, which has probed it. No cluster tells how it was, so it counts as ready until its first probe
// here. Its postStart hooks are run again: they run at least once, and its record may have been lost before that.
func presumed(slot *node.Slot, got *node.Observed) map[string]node.Health {
	pod := slot.Pod
	if len(slot.Health) > 0 || pod.Began.IsZero() || pod.Source == node.SourceAPI || got == nil {
		return slot.Health
	}
	health := map[string]node.Health{}
	for i := range got.Containers {
		run := &got.Containers[i]
		if run.UID == pod.UID() && run.State == node.ContainerRunning && run.CreatedAt.Before(pod.Accepted) {
			health[run.Name] = node.Health{ID: run.ID, Started: run.CreatedAt, Ready: true, Since: run.CreatedAt}
		}
	}
	return health
}

// learn takes a later word on runs than the track has: another kubelet has probed them. What a probe of this agent has
// shown stands, since it is shown only once.
func (t *Track) learn(health map[string]node.Health) {
	for name, told := range health {
		run := t.got.Newest(t.slot.Pod.UID(), name)
		if run == nil || run.ID != told.ID || t.probed[name] == run.ID || !told.Changed().After(t.got.HealthOf(run).Changed()) {
			continue
		}
		got := t.got.Clone()
		setHealth(got, name, told)
		t.got = got
	}
}
