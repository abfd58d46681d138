// Package topology reads from the kernel how a machine's CPUs lie together: in cores,
// in sockets, around a cache and near a part of the memory. Start reading at Read.
package topology
