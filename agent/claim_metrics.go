package agent

import (
	"context"
	"log/slog"
	"sync"

	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// claimFigures returns how full the volumes of claims are, for metrics. It logs faults.
func claimFigures(
	read func(context.Context) ([]statsapi.VolumeStats, error), log *slog.Logger,
) func(context.Context) []statsapi.VolumeStats {
	missing := missingClaims{log: log}
	return func(ctx context.Context) []statsapi.VolumeStats {
		found, err := read(ctx)
		missing.tell(err)
		return found
	}
}

// missingClaims logs a fault once, and not with every scrape.
type missingClaims struct {
	log *slog.Logger

	mu   sync.Mutex
	told string
}

// tell logs a fault that is another one than before.
func (m *missingClaims) tell(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != m.told {
		m.log.Warn("cannot measure the usage of some claims' volumes", "err", text)
	}
	m.told = text
}
