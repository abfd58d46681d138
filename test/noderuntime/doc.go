// Package noderuntime tests the node's own runtime for real: containerd, shims,
// bridges and rules on this machine, and that all of them are gone afterwards.
//
// It uses the programs of the host, or of a bundle that rig.BundleEnv names. A rig
// serves it the images, and is a second runtime beside it, with which nothing may
// collide.
package noderuntime
