// Package tunable compares the settings of the kernel that a node wants with
// those of this machine, and changes them where it is asked to.
//
// They are upstream's: memory may be promised twice, since pods are held to limits;
// running out ends a process and not the machine; a kernel that is broken starts
// anew, so that a cluster sees the node come back rather than hang; and there is room
// for a key ring for each container. They belong to the machine, not to the node, and
// stay when it ends.
//
// Start reading at Differ.
package tunable
