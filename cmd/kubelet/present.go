package main

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/host/cri"
	"nodal/node/admit"
)

// firstWord is how long the start waits for a runtime to say what it can do.
const firstWord = 500 * time.Millisecond

// ask has the runtime say what it can do before the first pods come. One that does not
// answer is asked again with every look at the node.
func (a *agent) ask(ctx context.Context, r *cri.Runtime) {
	ctx, cancel := context.WithTimeout(ctx, firstWord)
	defer cancel()
	if _, err := r.Status(ctx); err != nil {
		a.log.Debug("the runtime does not say yet what it can do", "err", err)
	}
}

// present is how the node is now, for pods that are new to it.
func (a *agent) present() (p admit.Present) {
	if short := a.short.Load(); short != nil {
		p.Short = *short
	}
	if runtime := a.runtime.Known(); runtime != nil {
		p.MergeGroups = !runtime.Features.SupplementalGroupsPolicy
	}
	return p
}

// runShort takes the node's conditions as they are from now on.
func (a *agent) runShort(conditions []corev1.NodeCondition) {
	var short []corev1.NodeConditionType
	for _, c := range conditions {
		if c.Type != corev1.NodeReady && c.Status == corev1.ConditionTrue {
			short = append(short, c.Type)
		}
	}
	a.short.Store(&short)
}
