// Package disk measures the room that the files below a directory take.
//
// Containers write meanwhile. So no name is followed: each directory is opened beneath
// the one before, links count as links, and mounts below do not count.
//
// Start reading at Measure.
package disk
