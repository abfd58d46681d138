// Package service says how packets for services find their pods.
//
//	Services and EndpointSlices --> Compile --> Ports --> Table (nftables)
//
// A packet for a service is looked up once, by its address, protocol and port. What is found has one rule, which chooses
// a number by chance, or by the sender where a client is to stay with its pod. A second look-up leads from the number to
// the pod. So the number of services costs a packet nothing.
//
// The package is pure. What it does not lead anywhere is refused: a service without pods answers like a closed port.
//
// Start reading at Compile in compile.go.
package service
