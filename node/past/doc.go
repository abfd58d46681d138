// Package past holds what the node remembers of pods, as values and as bytes.
//
//	a change of a pod ──▶ State ──▶ Writer ──▶ records ──▶ Reader ──▶ the State at a revision
//
// A file describes itself. Its first record says from which revision on it is complete, and the states of all pods at
// that revision follow. Later records hold what has changed. A manifest is in a file once, and each state names it.
//
//	begin     'B', version, revision, time
//	manifest  'M', its number, namespace, name, then compressed JSON: what of the pod stays the same
//	state     'S', number of the manifest, revision, time, 1 if the pod is gone, then compressed JSON: what changes
//
// Numbers are varints, times are milliseconds since 1970, texts have their length before them. A version of this table is
// for good: a reader refuses others, and a writer begins a new file. The package reads no clock and no file.
//
// Start reading at Writer.Append.
package past
