package cri

import (
	"context"
	"strings"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// UsePodCIDRs tells the runtime the subnets that a cluster has given the node, for the network configuration that the
// runtime may write from a template.
func (p *Pods) UsePodCIDRs(ctx context.Context, cidrs []string) error {
	ctx, cancel := p.conn.request(ctx)
	defer cancel()
	_, err := p.conn.runtime.UpdateRuntimeConfig(ctx, &runtimeapi.UpdateRuntimeConfigRequest{
		RuntimeConfig: &runtimeapi.RuntimeConfig{NetworkConfig: &runtimeapi.NetworkConfig{PodCidr: strings.Join(cidrs, ",")}},
	})
	if err != nil && !unimplemented(err) {
		return explain(err, "tell the runtime the subnets of pods")
	}
	return nil
}
