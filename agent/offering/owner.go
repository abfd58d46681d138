package offering

import (
	"context"
	"log/slog"
	"reflect"
	"time"

	"nodal/node/offer"
)

// lookInterval bounds how long a change goes unseen. The kernel sends no events for huge pages and swap.
const lookInterval = 10 * time.Second

// Owner writes the node's offer. Nothing else does.
type Owner struct {
	Look  func() (Facts, error) // looks at the machine
	Terms Terms
	Board *offer.Board
	Log   *slog.Logger

	seen Facts // of the present offer
}

// Begin posts the first offer. It fails if more is reserved than the machine has.
func (o *Owner) Begin() error {
	facts, err := o.Look()
	if err != nil {
		return err
	}
	first, err := o.Terms.Offer(facts)
	if err != nil {
		return err
	}
	o.seen = facts
	o.Board.Post(first)
	return nil
}

// Run looks at the machine when woken, and once in a while, until the context ends.
func (o *Owner) Run(ctx context.Context, woken <-chan struct{}) {
	ticker := time.NewTicker(lookInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-woken:
		case <-ticker.C:
		}
		o.renew()
	}
}

// renew posts another offer if the machine has changed. If less is left than is reserved, it logs that and posts the
// smaller offer.
func (o *Owner) renew() {
	facts, err := o.Look()
	if err != nil {
		o.Log.Warn("cannot look at the machine; the node keeps its offer", "err", err)
		return
	}
	if reflect.DeepEqual(facts, o.seen) {
		return
	}
	next, err := o.Terms.Offer(facts)
	if err != nil {
		o.Log.Warn("the machine has less than is reserved", "err", err)
	}
	o.seen = facts
	o.Board.Post(next)
	o.Log.Info("the machine has changed; the node offers other resources to pods",
		"cpus", facts.Online, "capacity", next.Capacity, "allocatable", next.Allocatable)
}
