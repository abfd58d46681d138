// Package certificate gets a node its certificates from the cluster, and new ones
// before they run out: the one it is known by as a client and, if wanted, the one
// it serves with.
//
//	bootstrap.go   the first one: from a credential that may do nothing else to a kubeconfig
//	keep.go        those after it
//	wanted.go      what a certificate is for, and the request that says so
//	request.go     asks for one, and waits until somebody has approved
//	pair.go        the file that holds certificate and key
//
// A key is kept while its request waits, and the request is named after it: an
// agent that is started again goes on waiting where it was, and asks nobody twice.
package certificate
