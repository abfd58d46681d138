// Package gc gives up images.
//
//	images.go      decides which
//	collector.go   looks at what is there and in use, and removes them
//
// Deciding is pure: what is there, what was seen of it over time and how full the disk is
// go in, a Plan comes out.
//
// An image is kept while a container uses it, a pod is about to, or the runtime
// has pinned it. Of the others, those go that nobody has used for too long; then,
// once the disk is fuller than the high threshold, as many as bring it below the
// low one: the least recently used first, and none that came only just now.
//
// Start reading at Images, then at Collector.
package gc
