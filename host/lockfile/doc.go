// Package lockfile lets one kubelet hand a machine over to another by a file: the holder has the lock of the file, the
// next one waits for it, and the holder may end as soon as it sees that another one opens the file.
//
// The kernel gives the lock back when its holder dies, so a file that is left behind is no obstacle.
//
// Start reading at Take in lockfile.go.
package lockfile
