// Package topology reads from the kernel which CPUs of a machine share a core, a socket, a
// cache or a NUMA node. Start reading at Read.
package topology
