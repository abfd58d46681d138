// Package checkpoint reads and writes the files in which upstream's kubelet keeps what containers have for themselves,
// so that the two can follow on each other without a container losing its CPUs, memory or devices:
//
//	cpu_manager_state                             exclusive CPUs
//	memory_manager_state                          memory of chosen NUMA nodes, and a table of all that the machine has
//	device-plugins/kubelet_internal_checkpoint    devices, and what their plugins have answered
//
// This node keeps all of that in the records of pods. What it reads counts for pods without a record, and it writes for
// upstream's next start; nothing that is in force rests on these files. A file of another policy than the node's is removed.
//
// Types have upstream's names, since its checksums are made of what Go prints of them.
//
// Start reading at Read in read.go.
package checkpoint
