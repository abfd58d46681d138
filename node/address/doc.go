// Package address chooses the IP addresses of the node among those of its machine. It does no I/O: package host/machine
// looks at the machine.
//
//	--node-ip ──▶ the last start's ──▶ the name's ──▶ default route's interface ──▶ any other ──▶ loopback
//
// The first step that has an address of the machine decides. All but the second are upstream's. That one keeps the node at
// its address while the machine has it: pods, certificates and the cluster know the node by it.
//
// The bridge of a pod network has an address too, often on the first interface of all. It is chosen only if the name or
// the default route leads there.
//
// Start reading at Choose in choose.go.
package address
