package agent

import (
	"context"
	"log/slog"
	"sync"

	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// claimFigures returns a function for metrics that measures the volumes of claims. It logs faults.
func claimFigures(
	read func(context.Context) ([]statsapi.VolumeStats, error), log *slog.Logger,
) func(context.Context) []statsapi.VolumeStats {
	faults := faultLog{log: log}
	return func(ctx context.Context) []statsapi.VolumeStats {
		found, err := read(ctx)
		faults.note(err)
		return found
	}
}

// faultLog logs a fault once, instead of with every scrape.
type faultLog struct {
	log *slog.Logger

	mu   sync.Mutex
	last string
}

// note logs a fault unless it is the same as before.
func (f *faultLog) note(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != f.last {
		f.log.Warn("cannot measure the usage of some claims' volumes", "err", text)
	}
	f.last = text
}
