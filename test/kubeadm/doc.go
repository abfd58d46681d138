// Package kubeadm makes a cluster of two nodes with kubeadm, as docs/KUBEADM.md says, on two machines of package machine:
// kubeadm init on the first, kubeadm join with a token on the second, kubeadm reset on either.
//
//	c, err := kubeadm.Start(ctx, kubeadm.Config{Dir: dir, Kubelet: path, Parts: parts})
//	err = c.Init(ctx)
//	err = c.Join(ctx)
//	c.Kubectl(ctx, "get", "nodes")
//	err = c.Reset(ctx, c.Second)
//	c.Stop()
//
// On each machine runs the kubelet with its built-in runtime. The images of the control plane are made of the programs
// that test/cluster/parts builds, and so are those of kube-proxy and CoreDNS: there is no registry. The second machine
// can have Debian's containerd instead (foreign.go).
//
// Start reading at cluster.go; systemctl.sh stands in for systemd.
package kubeadm
