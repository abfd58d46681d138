// Package hostile is a client without a credential, or with one that may only read, that wants the node's memory.
//
// Besiege opens connections that each carry one attack out and then hold what they got:
//
//	headers   lists of headers that are small on the wire and large in memory, on many streams
//	partial   messages of which the last byte never comes
//	idle      connections that ask for nothing
//	slow      headers and bodies that come a byte at a time
//
// Everything is bounded in count and time, and ends with the context. It is for nodes that the
// test itself has started: the address has to be on loopback, or in the network of its pods.
//
// Start reading at Besiege in siege.go; each attack has a file of its own.
package hostile
