// Package machine looks at the machine that the node runs on.
//
//	Look         reads the facts that stay the same until the machine restarts
//	Resources    reads what may change meanwhile: memory, swap, huge pages, processes
//	GivenMemory  reads how much memory this process may use
//	Addresses    lists the addresses of its interfaces, Resolve those of a name
//	DiskSize     measures a file system
//
// Look and Resources read files below a root, so tests show them any machine. The package only reads: it
// does not decide what the machine offers to pods.
//
// Start reading at Look in machine.go.
package machine
