// Package certificate gets a node its certificates from the cluster, and renews them before they expire: the client
// certificate and, if configured, the serving certificate.
//
//	bootstrap.go   the first certificate, by a credential that may request one and nothing else
//	adopt.go       the first certificate, from the kubeconfig that brings it along
//	keep.go        renewals
//	wanted.go      the purpose of a certificate, and the request for it
//	request.go     sends the request and waits until it is approved
//	pair.go        the file with a certificate and its key
//
// The key is kept while its request waits, and the request is named after the key. So an agent that is restarted waits
// for the same request, and sends no second one.
//
// Start reading at Keeper in keep.go.
package certificate
