// Package admit decides whether this node runs a pod at all.
//
//	what the node offers ─┐
//	the pods it has ──────┼─▶ Check ─▶ nil, or why not, in Kubernetes' words
//	the new pod ──────────┘
//
// It is pure and asked once in a pod's life, in the transaction that takes the
// pod in: of two pods that compete for the last CPU exactly one is refused, and
// no crash or restart asks again. A refused pod has failed; it stays to be seen
// until it is deleted or applied again. For a critical pod that is refused for want of
// resources, or for a port of a pod that ends, Preempt names the pods that it has to wait for.
//
// The node offers the part of the machine that is not reserved; see Machine and Reserved in offer.go. Present
// holds its state at the moment, and the abilities of its runtime.
//
// Advice warns of pods that are taken although they will not run as their author expects.
//
// Start reading at Check in admit.go.
package admit
