package main

import (
	"context"
	"time"

	"nodal/host/cri"
	"nodal/node/admit"
	"nodal/reconciler"
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
func (a *agent) present() admit.Present {
	p := admit.Present{Short: a.vitals.Short()}
	if runtime := a.runtime.Known(); runtime != nil {
		p.MergeGroups = !runtime.Features.SupplementalGroupsPolicy
	}
	return p
}

// newVitals makes the vitals of the node. Its runtime has to be reached, and figures to be there.
func (a *agent) newVitals() *reconciler.Vitals {
	r := a.cfg.Reserved
	return reconciler.NewVitals(reconciler.VitalsConfig{
		Runtime: a.runtime, Signals: a.figures.Signals, Thresholds: r.Eviction, Hold: r.Shortage, Clock: time.Now, Log: a.log,
	})
}
