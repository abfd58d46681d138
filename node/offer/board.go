package offer

import (
	"sync"

	"nodal/node"
	"nodal/node/admit"
	"nodal/node/assign"
	"nodal/node/limit"
)

// Offer lists the node's resources for pods at one time. It is shared: no reader may change it.
type Offer struct {
	Revision   int64         // counts the offers since the agent's start
	admit.Node               // what pods are admitted by
	Assign     *assign.Rules // by which CPUs are handed out; nil if none are
	AllPods    limit.Limits  // of all pods together
	Memory     int64         // bytes that are not reserved for other programs
}

// Board shows the node's offer. Its methods may be called from any goroutine.
type Board struct {
	mu      sync.RWMutex
	offer   Offer
	changed node.Bell
}

// Post puts an offer in the place of the one before. Only the owner of the offer calls it.
func (b *Board) Post(o Offer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	o.Revision = b.offer.Revision + 1
	b.offer = o
	b.changed.Ring()
}

// Read returns the present offer.
func (b *Board) Read() Offer {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.offer
}

// Changed returns a channel that is closed by the next offer. Take it before Read.
func (b *Board) Changed() <-chan struct{} { return b.changed.Heard() }
