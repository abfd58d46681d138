// Package tunable compares the settings of the kernel that a node needs with those of this
// machine, and changes them on request.
//
// They are upstream's. Memory may be overcommitted, since pods have limits. A lack of
// memory ends a process and not the machine. A broken kernel reboots, so that a cluster
// sees the node return rather than hang. There is room for a key ring for each container.
// The settings belong to the machine, not to the node, and stay when the node ends.
//
// Start reading at Differ.
package tunable
