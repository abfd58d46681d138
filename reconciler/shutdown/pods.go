package shutdown

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/life"
	"nodal/node/store"
)

// pods says of each pod that is there what a decision needs. It leaves out those that this agent has to leave alone.
func pods(views []store.View, now time.Time) (all []Pod) {
	for _, v := range views {
		if v.Gone || v.Slot == nil || v.Slot.Newer {
			continue
		}
		p := Pod{Key: v.Key, Grace: node.GracePeriod(v.Slot.Pod.Object), Until: until(v, now), Gone: gone(v)}
		if priority := v.Slot.Pod.Object.Spec.Priority; priority != nil {
			p.Priority = *priority
		}
		p.After, _ = node.Before(v.Slot.Pod.Object) // intake refuses what cannot be read
		all = append(all, p)
	}
	return all
}

// until returns by when something ends the pod already. A pod that has done its work ends by itself.
func until(v store.View, now time.Time) time.Time {
	t, pod := v.Slot.Termination, v.Slot.Pod
	switch {
	case pod.Deletion != nil:
		return pod.Deletion.Deadline()
	case t != nil:
		return t.Deadline(pod)
	case v.Slot.Result == nil && v.Got != nil && life.Of(v.Slot, v.Got).Over():
		return now
	}
	return time.Time{}
}

// gone reports whether nothing of a pod runs, and nothing of it will until the machine is back.
func gone(v store.View) bool {
	t := v.Slot.Termination
	rests := v.Slot.Result != nil || t != nil && t.Halted
	if !rests || v.Slot.Pod.Deletion != nil {
		return false
	}
	if v.Got == nil {
		return true
	}
	cleared := !t.ForShutdown() || t.Returns || v.Got.Laid[node.Volumes].Gone
	return cleared && !v.Got.Runs(v.Slot.Pod.UID())
}

// atOnce is the grace of a pod that has none left. Zero would stand for the pod's own.
const atOnce = time.Nanosecond

// endPods journals that pods have to end; package reconciler then ends them.
func (m *Machine) endPods(endings []Ending, views []store.View, now time.Time) error {
	if len(endings) == 0 {
		return nil
	}
	seen := map[node.Key]store.View{}
	for _, v := range views {
		seen[v.Key] = v
	}
	var ended []*node.Pod
	_, err := m.Store.Transact(func(tx *store.Tx) error {
		ended = nil
		for _, e := range endings {
			slot, v := tx.Get(e.Key), seen[e.Key]
			if slot == nil || slot.Result != nil || slot.Pod.UID() != v.Slot.Pod.UID() {
				continue // the next pass sees what has come of it
			}
			if slot.Pod.Deletion == nil && slot.Termination == nil {
				ended = append(ended, slot.Pod)
			}
			tx.Reserved()
			tx.Put(e.Key, hurried(slot, v.Got, e.Until, now))
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, pod := range ended {
		m.Report(node.Event{
			Key: pod.Key(), UID: pod.UID(), Time: now, Reason: node.Terminated, Message: node.TerminatedMessage,
		})
	}
	return nil
}

// hurried returns a slot whose pod ends by a time. A reason that it has for ending already stands.
func hurried(old *node.Slot, got *node.Observed, until, now time.Time) *node.Slot {
	slot, pod := *old, *old.Pod
	switch t := old.Termination; {
	case pod.Deletion != nil:
		d := *pod.Deletion
		d.Grace = max(0, until.Sub(d.Requested))
		pod.Deletion = &d
		slot.Pod = &pod
	case t != nil:
		sooner := *t
		sooner.Grace = max(atOnce, until.Sub(t.Requested))
		slot.Termination = &sooner
	default:
		slot.Termination = &node.Termination{
			Requested: now, Reason: node.Terminated, Message: node.TerminatedMessage,
			Grace: max(atOnce, until.Sub(now)), Returns: returns(old, got),
		}
		if slot.Termination.Returns {
			pod.Restarts = node.MergeRestarts(pod.Restarts, cut(&pod, got))
			slot.Pod = &pod
		}
	}
	return &slot
}

// returns reports whether a pod runs again once the machine is back. A pod of a cluster does not: the cluster makes
// another one. Neither does a pod that may run only once, once it has begun.
func returns(slot *node.Slot, got *node.Observed) bool {
	switch {
	case slot.Pod.WantedBy() == node.SourceCluster:
		return false
	case slot.Pod.Object.Spec.RestartPolicy != corev1.RestartPolicyNever:
		return true
	}
	return got != nil && len(got.Containers) == 0 && len(got.Lost) == 0 && len(slot.Tallies) == 0
}

// cut lists the runs that the shutdown cuts short. Each is followed by another one, however it ends, unless its
// container may run only once.
func cut(pod *node.Pod, got *node.Observed) (runs []node.Restart) {
	if got == nil {
		return nil
	}
	for i := range got.Containers {
		c := &got.Containers[i]
		spec := specOf(&pod.Object.Spec, c.Name)
		again := spec != nil && node.PolicyOf(&pod.Object.Spec, spec) != corev1.RestartPolicyNever
		if c.UID == pod.UID() && c.Alive() && again {
			runs = append(runs, node.Restart{Container: c.Name, Attempt: c.Attempt})
		}
	}
	return runs
}

func specOf(spec *corev1.PodSpec, name string) *corev1.Container {
	for c := range node.Containers(spec) {
		if c.Name == name {
			return c
		}
	}
	return nil
}
