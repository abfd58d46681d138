// Package gc says which images to give up. It is pure: what is there, what was
// seen of it over time and how full the disk is go in, a Plan comes out.
//
// An image is kept while a container uses it, a pod is about to, or the runtime
// has pinned it. Of the others, those go that nobody has used for too long; then,
// once the disk is fuller than the high threshold, as many as bring it below the
// low one: the least recently used first, and none that came only just now.
//
// Start reading at Images in images.go.
package gc
