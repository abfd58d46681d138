package server

import (
	"context"
	"log/slog"
	"reflect"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/health"
)

const (
	healthFresh   = 5 * time.Second
	healthTimeout = 2 * time.Second
	// No runtime tells that its network is ready, or no longer, and nobody that the
	// disk fills up.
	healthLook = 10 * time.Second
)

// Signals tells how much is left of what the node may run short of, and has to be.
// With an error it lacks what the error names.
type Signals func(context.Context) ([]health.Signal, error)

// nodeHealth knows how the node is: what its runtime last said, and its conditions.
// Many who want to know share one look.
type nodeHealth struct {
	runtime Runtime
	signals Signals
	log     *slog.Logger
	now     func() time.Time
	changed node.Bell // rings when a look has shown something else than the one before

	mu     sync.Mutex
	at     time.Time
	turned <-chan struct{} // closed: what is known may be wrong
	known  RuntimeStatus
	record health.Record
}

func newHealth(cfg Config) *nodeHealth {
	return &nodeHealth{runtime: cfg.Runtime, signals: cfg.Signals, log: cfg.Log, now: cfg.Now, record: health.Record{Hold: cfg.Shortage}}
}

// look tells what is known while it is fresh. That the runtime does not answer is an
// answer.
func (h *nodeHealth) look(ctx context.Context) (RuntimeStatus, []corev1.NodeCondition) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.now()
	if h.fresh(now) {
		return h.known, h.record.Conditions()
	}
	h.turned = h.runtime.Changed()
	// Others wait for this answer: it must not fail because one client is gone.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), healthTimeout)
	defer cancel()
	signals := make(chan []health.Signal, 1)
	go func() { signals <- h.measure(ctx) }()
	before := h.known
	answer, err := h.runtime.Status(ctx)
	if err != nil {
		answer = RuntimeStatus{Name: before.Name, Version: before.Version, Message: err.Error()}
	}
	first := h.at.IsZero()
	h.at, h.known = now, answer
	changed := h.record.Take(health.Facts{
		RuntimeReady: answer.Ready, NetworkReady: answer.NetworkReady, Message: answer.Message, Signals: <-signals,
	}, now)
	if !first && (changed || !reflect.DeepEqual(answer, before)) {
		h.changed.Ring()
	}
	return h.known, h.record.Conditions()
}

func (h *nodeHealth) measure(ctx context.Context) []health.Signal {
	if h.signals == nil {
		return nil
	}
	signals, err := h.signals(ctx)
	if err != nil {
		h.log.Debug("not all is known of what the node has left", "err", err)
	}
	return signals
}

func (h *nodeHealth) fresh(now time.Time) bool {
	select {
	case <-h.turned:
		return false
	default:
		return !h.at.IsZero() && now.Sub(h.at) < healthFresh
	}
}

// follow looks whether somebody asks or not: since when a condition is so can be
// told only by who was there.
func (h *nodeHealth) follow(ctx context.Context) {
	ticker := time.NewTicker(healthLook)
	defer ticker.Stop()
	for {
		runtime := h.runtime.Changed()
		h.look(ctx)
		select {
		case <-runtime:
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}
