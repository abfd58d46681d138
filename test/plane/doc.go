// Package plane runs a Kubernetes control plane on this machine for a node to join: etcd and
// kube-apiserver, and if wanted kube-scheduler, kube-controller-manager and metrics-server.
// test/cluster/parts/build.sh builds them.
//
//	plane.go       the files and flags of the programs
//	metrics.go     those of metrics-server, and its registration in the API
//	kubectl.go     kubectl for the admin
//	program.go     one of the programs
//	authority.go   signs the certificates of the API server's clients
//
// All files lie below one directory, and all ports are on loopback.
package plane
