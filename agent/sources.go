package agent

import (
	"context"
	"time"

	"nodal/agent/config"
	"nodal/cluster/member"
	"nodal/host/source"
	"nodal/node"
	"nodal/node/store"
)

// podSource delivers pods until its context ends.
type podSource interface {
	Run(context.Context) error
}

// locations returns where each source of pods has them.
func locations(c *config.Config) map[node.Source]string {
	s := c.Sources
	places := map[node.Source]string{node.SourceAPI: "the node API"}
	if s.StaticPodPath != "" {
		places[node.SourceFile] = s.StaticPodPath
	}
	if s.URL != "" {
		places[node.SourceURL] = s.URL
	}
	if c.Cluster.Kubeconfig != "" && !s.Once {
		places[node.SourceCluster] = "the cluster of " + c.Cluster.Kubeconfig
	}
	return places
}

// podSources returns the sources of pods besides the API.
func podSources(s config.Sources, sink source.Sink) ([]podSource, error) {
	var found []podSource
	if s.StaticPodPath != "" {
		found = append(found, source.NewFile(source.FileConfig{Path: s.StaticPodPath, Poll: s.FileCheck, Sink: sink}))
	}
	if s.URL != "" {
		url, err := source.NewURL(source.URLConfig{URL: s.URL, Header: s.URLHeader, Poll: s.HTTPCheck, Sink: sink})
		if err != nil {
			return nil, err
		}
		found = append(found, url)
	}
	return found, nil
}

// board takes from the membership in a cluster which pods the cluster wants.
type board struct {
	*store.Sources
	settled  <-chan struct{}
	podCIDRs func(ctx context.Context, cidrs []string) error
}

var _ member.Board = board{}

// Heard records that the cluster's pods were listed.
func (b board) Heard(claims node.Claims) <-chan struct{} {
	b.Sources.Heard(time.Now(), claims)
	return b.settled
}

// UsePodCIDRs passes on the subnets that the cluster has given the node for its pods.
func (b board) UsePodCIDRs(ctx context.Context, cidrs []string) error { return b.podCIDRs(ctx, cidrs) }

// firstLook bounds how long the start waits for looks at a runtime or a disk that hangs.
const firstLook = 3 * time.Second

// await waits for looks, for firstLook at most. It reports false if the context has ended.
func await(ctx context.Context, looks ...<-chan struct{}) bool {
	enough := time.NewTimer(firstLook)
	defer enough.Stop()
	for _, looked := range looks {
		select {
		case <-looked:
		case <-enough.C:
			return true
		case <-ctx.Done():
			return false
		}
	}
	return true
}
