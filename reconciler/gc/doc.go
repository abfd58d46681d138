// Package gc removes images that nothing needs, and logs that exceed their budget.
//
//	images.go          decides which images
//	garbage.go         says of each unused image when it goes, or why it stays
//	collector.go       looks at what is there and in use, and removes them
//
//	logs.go            decides which log files
//	log_collector.go   looks at what is there, and removes them
//
// Both decisions are pure: the images, their observed use and the state of the disk go in, a
// Plan comes out; or the files, what each is to the node and the budget, and a LogPlan.
//
// An image is kept while a container uses it, a pod is about to, or the runtime has
// pinned it. Of the others, those that have been unused for too long are removed. If the
// disk is still fuller than the high threshold, more are removed until it is below the low
// one: the least recently used first, and none that has only just arrived.
//
// The logs of all containers have one budget. Those of deleted pods, and of runs that were removed, are kept while it lasts.
//
// When the node runs short of disk, package evict asks for more: then all logs go that are merely kept, and all images
// that nothing uses, before a pod has to.
//
// Start reading at Images, then at Collector; for logs at Logs, then at LogCollector.
package gc
