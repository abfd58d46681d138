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
// that test/cluster/parts builds, so there is no registry. kube-proxy and CoreDNS are left out.
//
// Start reading at cluster.go; systemctl.sh stands in for systemd.
package kubeadm
