// Package admit decides whether this node runs a pod at all.
//
//	what the node offers ─┐
//	the pods it has ──────┼─▶ Check ─▶ nil, or why not, in Kubernetes' words
//	the new pod ──────────┘
//
// It is pure and asked once in a pod's life, in the transaction that takes the
// pod in: of two pods that compete for the last CPU exactly one is refused, and
// no crash or restart asks again. A refused pod has failed; it stays to be seen
// until it is deleted or applied anew. For a critical pod that is refused for want of
// resources, or for a port of a pod that ends, Preempt says whose end it has to wait for.
//
// What the node offers is what of the machine nobody else has reserved; see Machine and Reserved in offer.go. How
// it is at the moment, and what its runtime turns out to be able to do, is Present.
//
// Start reading at Check in admit.go.
package admit
