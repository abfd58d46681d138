package agent

import (
	goruntime "runtime"
	"time"

	"nodal/node/assign"
	"nodal/node/store"
	"nodal/reconciler"
	"nodal/reconciler/evict"
)

// makeLimit returns how many sandboxes and containers are made side by side. Making one is work of the machine's
// cores. A few more than there are cores keep all busy, and many more only disturb each other.
func makeLimit(cores int) int { return max(4, 2*cores) }

// newReconciler returns the reconciler of the other parts.
func newReconciler(o Options, f facts, m memory, r runtime, p parts) *reconciler.Reconciler {
	act := reconciler.Act{
		Store: m.state.Store, Runtime: r.client, Images: p.puller, Hooks: p.prober, Logs: m.files,
		Volumes: m.volumes, Storage: m.keeper, Clock: time.Now,
		Freed: func(tx *store.Tx) { p.intake.Readmit(tx, time.Now()) },
	}
	if r.cgroups != nil {
		act.Cgroups = r.cgroups
	}
	return reconciler.New(reconciler.Config{
		Act: act, Tracer: f.tracing.Steps, Counts: m.counts, Prober: p.prober, Events: m.state.Events,
		Sources: p.sources, Site: p.site, Pool: assign.NewPool(f.offers.Read().Assign), Offers: f.offers, Log: o.Log,
		Relist: reconciler.PollEvery, Starts: makeLimit(goruntime.NumCPU()),
	})
}

// newEvictor returns what ends pods that write more to the disk than they may.
func newEvictor(o Options, m memory, disk evict.Disk) *evict.Evictor {
	return &evict.Evictor{
		Store: m.state.Store, Disk: disk, Events: m.state.Events, Log: o.Log, Clock: time.Now,
		Evicted: func(over evict.Limit) { m.counts.Evicted(string(over)) },
	}
}
