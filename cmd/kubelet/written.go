package main

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/reconciler"
	"nodal/reconciler/evict"
)

// preempted tells that a pod has to end for a critical one.
func (a *agent) preempted(pod *node.Pod, lack corev1.ResourceName) {
	a.state.Events.Add(node.Event{
		Key: pod.Key(), UID: pod.UID(), Time: time.Now(), Warning: true, Reason: node.Preempting, Message: node.PreemptedMessage,
	})
	a.counts.Preempted(string(lack))
}

func (a *agent) newEvictor() *reconciler.Evictor {
	return &reconciler.Evictor{
		Store: a.state.Store, Disk: a.usage, Events: a.state.Events, Log: a.log, Clock: time.Now,
		Evicted: func(over evict.Limit) { a.counts.Evicted(string(over)) },
	}
}
