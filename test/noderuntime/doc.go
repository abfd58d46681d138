// Package noderuntime tests the node's own runtime on this machine: containerd, shims, bridges and
// firewall rules, and that a cleaned node leaves none of them.
//
// It uses the programs of the host, or of a bundle that rig.BundleEnv names. A rig serves the
// images. The rig is also a second runtime beside the node's, so collisions would show.
package noderuntime
