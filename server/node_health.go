package server

import (
	"context"
	"log/slog"
	"reflect"
	"slices"
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

// Signals tells how much is left of what the node may run short of, and has to be, and
// of what that could not be read.
type Signals func(context.Context) ([]health.Signal, []health.Unread)

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
	known  node.RuntimeStatus
	unread []health.Unread
	record health.Record
	told   func([]corev1.NodeCondition)
}

func newHealth(cfg Config) *nodeHealth {
	return &nodeHealth{runtime: cfg.Runtime, signals: cfg.Signals, log: cfg.Log, now: cfg.Now, record: health.Record{Hold: cfg.Shortage}, told: cfg.Conditions}
}

// look tells what is known while it is fresh. That the runtime does not answer is an
// answer.
func (h *nodeHealth) look(ctx context.Context) (node.RuntimeStatus, []corev1.NodeCondition) {
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
	measured := make(chan signals, 1)
	go func() { measured <- h.measure(ctx) }()
	before := h.known
	answer, err := h.runtime.Status(ctx)
	if err != nil {
		answer = node.RuntimeStatus{Name: before.Name, Version: before.Version, Message: err.Error()}
	}
	first := h.at.IsZero()
	h.at, h.known = now, answer
	left := <-measured
	h.tell(left.unread)
	changed := h.record.Take(health.Facts{
		RuntimeReady: answer.Ready, NetworkReady: answer.NetworkReady, Message: answer.Message, Signals: left.known, Unread: left.unread,
	}, now)
	if changed && h.told != nil {
		h.told(h.record.Conditions())
	}
	if !first && (changed || !reflect.DeepEqual(answer, before)) {
		h.changed.Ring()
	}
	return h.known, h.record.Conditions()
}

// signals are those that could be read, and those that could not.
type signals struct {
	known  []health.Signal
	unread []health.Unread
}

func (h *nodeHealth) measure(ctx context.Context) signals {
	if h.signals == nil {
		return signals{}
	}
	known, unread := h.signals(ctx)
	return signals{known, unread}
}

// tell logs what cannot be read once, not with every look.
func (h *nodeHealth) tell(unread []health.Unread) {
	if len(unread) > 0 && !slices.Equal(unread, h.unread) {
		h.log.Warn("not all is known of what the node has left", "unread", unread)
	}
	h.unread = unread
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
