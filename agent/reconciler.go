package agent

import (
	"log/slog"
	"time"

	"nodal/agent/state"
	"nodal/node/store"
	"nodal/reconciler/evict"
)

// makeLimit returns how many sandboxes and containers are made side by side. Making one is work of the machine's
// cores. A few more than there are cores keep all busy, and many more only disturb each other.
func makeLimit(cores int) int { return max(4, 2*cores) }

// freed returns a function that looks again at waiting pods, in the transaction that frees the resources of another.
func freed(readmit func(*store.Tx, time.Time)) func(*store.Tx) {
	return func(tx *store.Tx) { readmit(tx, time.Now()) }
}

// newEvictor returns the evictor of pods that write more to the disk than they may.
func newEvictor(s *state.State, disk evict.Disk, count func(limit string), log *slog.Logger) *evict.Evictor {
	return &evict.Evictor{
		Store: s.Store, Disk: disk, Events: s.Events, Log: log, Clock: time.Now,
		Evicted: func(over evict.Limit) { count(string(over)) },
	}
}
