package main

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"nodal/cmd/apisync/member"
	"nodal/server/auth"
)

// clusterAPI is the way to the API server; nil: the node stands alone. What is
// wrong with the file is said at the start, and not when the server is asked.
func (a *agent) clusterAPI() (*rest.Config, error) {
	c := a.cfg.Cluster
	if c.Kubeconfig == "" {
		return nil, nil
	}
	api, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the way to the API server from %s: %w", c.Kubeconfig, err)
	}
	api.QPS, api.Burst, api.UserAgent = c.QPS, c.Burst, "kubelet/"+version
	if api.QPS == 0 {
		api.QPS = -1 // to the client zero is its own default
	}
	return api, nil
}

// join makes the node a member of its cluster until the context ends. It does
// what apisync does beside a node, and knows no more of this one.
func (a *agent) join(ctx context.Context, conn grpc.ClientConnInterface) error {
	if a.cluster == nil {
		return nil
	}
	c := a.cfg.Cluster
	err := member.Run(auth.NewContext(ctx, auth.Identity{Name: "cluster", Role: auth.RoleAdmin, Via: "process"}), member.Config{
		NodeName: a.cfg.NodeName, Register: c.Register, Taints: c.Taints, ProviderID: c.ProviderID,
		KubeletPort: int32(a.cfg.Listen.Port), Lease: c.Lease, StatusEvery: c.StatusEvery, StatusAtMost: c.StatusAtMost,
	}, a.cluster, conn, a.log)
	if ctx.Err() != nil {
		return nil
	}
	return err
}
