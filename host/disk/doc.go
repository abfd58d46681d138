// Package disk says how much room the files below a directory take.
//
// Containers write what is measured, while it is measured. So nothing is followed
// by name: each directory is opened beneath the one before, links are counted as
// links, and what is mounted somewhere below lies elsewhere and does not count.
//
// Start reading at Measure.
package disk
