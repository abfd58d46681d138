package offering

import (
	"context"
	"log/slog"
	"reflect"
	"time"

	"nodal/node/offer"
)

// floor bounds how long a change goes unseen. The kernel sends no event for huge pages, nor for swap.
const floor = 10 * time.Second

// Owner writes the node's offer. Nothing else does.
type Owner struct {
	Look  func() (Facts, error) // looks at the machine
	Terms Terms
	Board *offer.Board
	Log   *slog.Logger

	seen Facts // that the present offer was made of
}

// Begin posts the first offer. It fails if the machine cannot have what is reserved of it.
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
	ticker := time.NewTicker(floor)
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

// renew posts another offer if the machine is another than before. What cannot be offered any more is logged: the
// offer says the same to pods.
func (o *Owner) renew() {
	facts, err := o.Look()
	if err != nil {
		o.Log.Warn("the node offers what it did: cannot look at the machine", "err", err)
		return
	}
	if reflect.DeepEqual(facts, o.seen) {
		return
	}
	next, err := o.Terms.Offer(facts)
	if err != nil {
		o.Log.Warn("the machine has less than is set aside of it", "err", err)
	}
	o.seen = facts
	o.Board.Post(next)
	o.Log.Info("the machine has changed: the node offers other resources to pods",
		"cpus", facts.Online, "capacity", next.Capacity, "allocatable", next.Allocatable)
}
