// Package nft describes tables of nftables as plain values, and replaces them in the kernel.
//
//	Table --> Chains, which hold Rules: Matches, then what to do
//	      --> Sets, which rules look fields of a packet up in
//
//	Table.String  writes a table in the language of the program nft, for tests that people read
//	Replace       lays tables down in one transaction: no packet meets half of them
//	Remove        removes them
//	Watch         tells when another program has removed some
//
// The parts of the pods' network decide what their tables say, without any I/O. This package knows how the kernel wants
// it said. It holds the few words that they use, and nothing of pods.
//
// Start reading at Table in table.go.
package nft
