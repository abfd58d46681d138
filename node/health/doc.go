// Package health says how the node is, in the words of Kubernetes' conditions:
// whether pods can be run, and what the machine runs short of.
//
//	Reading ──▶ rules ──▶ crossings, each with the time since when it stands
//	Facts ─────────────▶ Record.Take ──▶ conditions, each with the time since when it is so
//
// What was seen goes in, and nothing is asked here. Since a condition has a past, a
// Record keeps it. Admission reads the conditions, and package evict the crossings that are due.
//
// Start reading at Take, then at Rule in rule.go.
package health
