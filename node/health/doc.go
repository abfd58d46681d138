// Package health says how the node is, in the words of Kubernetes' conditions:
// whether pods can be run, and what the machine runs short of.
//
//	Facts ──▶ Record.Take ──▶ conditions, each with the time since when it is so
//
// What was seen goes in, and nothing is asked here. Since a condition has a past, a
// Record keeps it.
//
// Start reading at Take.
package health
