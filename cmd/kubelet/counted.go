package main

import (
	"context"
	"log/slog"
	"sync"

	clientmetrics "k8s.io/client-go/tools/metrics"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"nodal/host/stats"
	"nodal/node/assign"
	"nodal/reconciler"
	"nodal/server/metrics"
)

var _ reconciler.Counts = (*metrics.Agent)(nil)

// count has the metrics show what this node does beside running pods.
func (a *agent) count() {
	a.counts.Assigns(func() *assign.Rules { return a.offers.Read().Assign })
	if a.cluster != nil {
		clientmetrics.Register(a.counts.Cluster()) // before there is a client
	}
}

// countClaims has them show how full the volumes of claims are.
func (a *agent) countClaims(figures *stats.Collector) {
	missing := missingClaims{log: a.log}
	a.counts.Claims(func(ctx context.Context) []statsapi.VolumeStats {
		found, err := figures.Claims(ctx)
		missing.tell(err)
		return found
	})
}

// missingClaims logs what cannot be read of claims once, not with every scrape.
type missingClaims struct {
	log *slog.Logger

	mu   sync.Mutex
	told string
}

func (m *missingClaims) tell(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != m.told {
		m.log.Warn("it is not known how full some claims' volumes are", "err", text)
	}
	m.told = text
}
