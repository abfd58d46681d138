// Package cluster tests a node as a member of a real cluster: etcd and
// kube-apiserver run beside it, apisync joins them to a kubelet on a real
// containerd, and a plain HTTP client plays the scheduler and the user.
//
// The control plane is built by parts/build.sh into .cache/parts, and upstream's kubelet by parts/peer.sh.
package cluster
