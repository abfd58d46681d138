// Package plane runs a Kubernetes control plane on this machine, for a node to
// join: etcd and kube-apiserver and, if wanted, kube-scheduler,
// kube-controller-manager and metrics-server, as test/cluster/parts/build.sh has
// built them.
//
//	plane.go       the files and flags of the programs
//	metrics.go     those of metrics-server, and what makes it part of the API
//	kubectl.go     the program by which the admin gives orders
//	program.go     one of them, which may be killed and started again
//	authority.go   whose certificates the API server takes for a client's
//
// Everything is below one directory and listens on loopback alone.
package plane
