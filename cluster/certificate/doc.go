// Package certificate gets a node its certificates from the cluster, and renews them
// before they expire: the client certificate and, if wanted, the serving certificate.
//
//	bootstrap.go   the first one: from a credential that may do nothing else to a kubeconfig
//	keep.go        those after it
//	wanted.go      what a certificate is for, and the request that says so
//	request.go     sends the request, and waits until it is approved
//	pair.go        the file that holds certificate and key
//
// The key is kept while its request waits, and the request is named after it. So an agent
// that is restarted waits for the same request, and sends no second one.
package certificate
