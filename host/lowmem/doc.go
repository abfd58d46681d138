// Package lowmem reports that memory runs short, as soon as the kernel notices.
//
//	psi.go         tasks wait for memory, in any cgroup of the machine
//	threshold.go   a cgroup has used up what was left above a threshold; with version 1 of cgroups alone
//
// A notice says only that it is time to measure. Not every shortage has one: the kernel counts waiting tasks, and no
// task waits while memory can still be had. So the node is measured at an interval too.
//
// Start reading at Notices.
package lowmem
