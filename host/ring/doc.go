// Package ring keeps samples of usage in files of a bounded size.
//
//	<dir>/00000012-1764000000.seg   a segment: its number, and the time of its first sample
//	                                frames (node/frame) of records (node/history), each readable without other segments
//
// Append adds one frame by one write(2) and syncs nothing: a crash of the agent loses no sample that was appended, and a
// power cut those that the kernel had not written back. Open cuts what a crash has torn from the newest segment, and goes
// on there. A segment that is full, or old enough, is followed by a new one; the oldest ones are removed to make room.
//
// A write that fails costs its own sample. What it has left is cut off again, and the next sample begins a new segment.
//
// Start reading at Ring.Append in ring.go.
package ring
