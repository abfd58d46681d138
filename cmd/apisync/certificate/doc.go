// Package certificate gets a node its client certificate from the cluster, and a
// new one before it runs out.
//
//	bootstrap.go   the first one: from a credential that may do nothing else to a kubeconfig
//	keep.go        those after it
//	request.go     asks for one, and waits until somebody has approved
//	pair.go        the file that holds certificate and key
//
// A key is kept while its request waits, and the request is named after it: an
// agent that is started again goes on waiting where it was, and asks nobody twice.
package certificate
