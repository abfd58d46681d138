// Package gc removes images that nothing needs.
//
//	images.go      decides which
//	garbage.go     says of each unused image when it goes, or why it stays
//	collector.go   looks at what is there and in use, and removes them
//
// The decision is pure: the images, their observed use and the state of the disk go in, a
// Plan comes out.
//
// An image is kept while a container uses it, a pod is about to, or the runtime has
// pinned it. Of the others, those that have been unused for too long are removed. If the
// disk is still fuller than the high threshold, more are removed until it is below the low
// one: the least recently used first, and none that has only just arrived.
//
// When the node runs short of disk, package evict asks for more: then all go that nothing uses, before a pod has to.
//
// Start reading at Images, then at Collector.
package gc
