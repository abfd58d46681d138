package offering

import (
	"context"
	"log/slog"
	"reflect"
	"sync"
	"time"

	"nodal/node/offer"
)

// lookInterval bounds how long a change goes unseen. The kernel sends no events for huge pages and swap.
const lookInterval = 10 * time.Second

// Owner writes the node's offer. Nothing else does.
type Owner struct {
	Look  func() (Facts, error) // looks at the machine
	Terms Terms                 // of the start
	Board *offer.Board
	Log   *slog.Logger

	mu   sync.Mutex // of the terms and of what was seen
	seen Facts      // of the present offer
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

// Change readies the owner for other terms, and returns a function that puts them in force. It fails if they reserve more
// than the machine has.
func (o *Owner) Change(change func(*Terms)) (use func(), err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	next := o.Terms
	change(&next)
	_, before := o.Terms.Offer(o.seen)
	if _, err := next.Offer(o.seen); err != nil && before == nil {
		return nil, err
	}
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.Terms = next
		present, made := o.Board.Read(), o.offer()
		if made.Revision = present.Revision; !reflect.DeepEqual(made, present) {
			o.Board.Post(made)
		}
	}, nil
}

// offer makes the offer of the machine as it was last seen.
func (o *Owner) offer() offer.Offer {
	next, err := o.Terms.Offer(o.seen)
	if err != nil {
		o.Log.Warn("the machine has less than is reserved", "err", err)
	}
	return next
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
	o.mu.Lock()
	defer o.mu.Unlock()
	if reflect.DeepEqual(facts, o.seen) {
		return
	}
	o.seen = facts
	next := o.offer()
	o.Board.Post(next)
	o.Log.Info("the machine has changed; the node offers other resources to pods",
		"cpus", facts.Online, "capacity", next.Capacity, "allocatable", next.Allocatable)
}
