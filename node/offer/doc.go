// Package offer holds what the node offers to pods: one value, written by one owner and read by all other parts.
//
//	the machine ─┐                     ┌─▶ admission (node/intake)
//	devices ─────┼─▶ Board.Post ─▶ Offer ─▶ the pool of shared CPUs (reconciler)
//	settings ────┘       │             ├─▶ volumes and containers, of which a limit is not set
//	                     ▼             └─▶ GetNode and its watch (server), and by it a cluster
//	                 Changed rings
//
// An Offer is a snapshot with a revision: no reader changes it, and a new one takes its place as a whole. The
// arithmetic that makes one of a machine and its reservations is in node/admit. What is measured again and again,
// such as how much memory is free, is no part of it.
//
// An offer that shrinks takes nothing from pods that run. It only takes less of new ones.
//
// Start reading at Board.
package offer
