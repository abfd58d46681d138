// Package seal holds the words for the key that seals Secrets on the disk: where it lives, and how it is.
//
//	setting --Parse--> Source --> host/vault, which seals with the key --> State --> GET /v1/node
//
// The package reads no key and seals nothing: that is for host/vault.
//
// Start reading at Source in source.go.
package seal
