// Package history holds what the node remembers of usage, as values and as bytes.
//
//	Sample ──▶ Encoder ──▶ records of a segment ──▶ Decoder ──▶ Sample ──▶ Past, which answers a question
//	   │
//	   └─────▶ Digest: one sample of many, for what is kept longer
//
// A segment describes itself: its first record is a header, its second holds every series in full. All others hold what
// has changed. A series that uses next to nothing costs one byte a sample.
//
//	header   "NH", version, seconds between samples
//	sample   seconds since the sample before (in the first of a segment: since 1970)
//	         count, and places of the series that have ended, as distances
//	         count, and series that have begun: UID, namespace, name, memory limit in bytes, CPU limit in 1/1000 cores
//	         for each series in order: a byte, and what the byte announces
//	             bits 0-5  CPU in 1/10000 cores, plus one; 0: unknown; 63: a number follows, for the part above it
//	             bit 6     a change of tasks follows
//	             bit 7     a change of memory follows, in pages of 4 KiB
//
// Numbers are varints, those of changes in zigzag form. A version of this table is for good: a reader refuses others, and
// a writer begins a new segment. The package reads no clock and no file.
//
// Start reading at Encoder.Append in encode.go.
package history
