package reconciler

import (
	"context"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/health"
)

const (
	vitalsFresh   = 5 * time.Second
	vitalsTimeout = 2 * time.Second
	// No runtime tells that its network is ready, and no file system that it fills up.
	vitalsLook = 10 * time.Second
)

// VitalsConfig holds the sources of the vitals.
type VitalsConfig struct {
	Runtime RuntimeHealth
	// Signals measures how much is left of what the node may run short of, and names what could not be read. nil
	// means that nothing is measured.
	Signals    func(context.Context) ([]health.Signal, []health.Unread)
	Thresholds map[string]health.Threshold // below which the node is short, by signal
	Hold       time.Duration               // for which a shortage has to be over before it is no longer told
	Clock      func() time.Time
	Log        *slog.Logger
}

// RuntimeHealth says how the container runtime is.
type RuntimeHealth interface {
	Status(ctx context.Context) (node.RuntimeStatus, error)
	// Changed returns a channel that is closed when Status may say something else than before.
	Changed() <-chan struct{}
}

// Vitals hold how the node is: what its runtime said last, and its conditions. All who ask share one look. Its methods
// may be called from any goroutine.
type Vitals struct {
	VitalsConfig
	changed node.Bell // rings when a look has shown something else than the one before
	looked  chan struct{}
	short   atomic.Pointer[[]corev1.NodeConditionType]

	mu     sync.Mutex // held while a look is under way
	at     time.Time
	stale  <-chan struct{} // closed when what is known may be wrong
	known  node.RuntimeStatus
	unread []health.Unread
	record health.Record
}

// NewVitals makes the vitals of a node that was not looked at yet.
func NewVitals(c VitalsConfig) *Vitals {
	return &Vitals{VitalsConfig: c, looked: make(chan struct{}), record: health.Record{Hold: c.Hold}}
}

// Run looks at the node until the context ends, whether or not there are readers: since when a condition holds can only
// be told by a look that saw it begin.
func (v *Vitals) Run(ctx context.Context) {
	ticker := time.NewTicker(vitalsLook)
	defer ticker.Stop()
	for {
		runtime := v.Runtime.Changed()
		v.Look(ctx)
		select {
		case <-runtime:
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// Changed returns a channel that is closed when a look shows something else than the one before it.
func (v *Vitals) Changed() <-chan struct{} { return v.changed.Heard() }

// Looked returns a channel that is closed after the first look.
func (v *Vitals) Looked() <-chan struct{} { return v.looked }

// Short lists the conditions that hold and say that the node runs short. It never waits, and before the first look it
// lists none.
func (v *Vitals) Short() []corev1.NodeConditionType {
	if short := v.short.Load(); short != nil {
		return *short
	}
	return nil
}

// Look returns what is known while it is fresh, and looks otherwise. A runtime that does not answer is an answer.
func (v *Vitals) Look(ctx context.Context) (node.RuntimeStatus, []corev1.NodeCondition) {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := v.Clock()
	if v.fresh(now) {
		return v.known, v.record.Conditions()
	}
	v.stale = v.Runtime.Changed()
	// Others wait for this answer, so it must not fail because one client is gone.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), vitalsTimeout)
	defer cancel()
	measured := make(chan signals, 1)
	go func() { measured <- v.measure(ctx) }()
	before := v.known
	answer, err := v.Runtime.Status(ctx)
	if err != nil {
		answer = node.RuntimeStatus{Name: before.Name, Version: before.Version, Message: err.Error()}
	}
	v.take(answer, <-measured, now)
	return v.known, v.record.Conditions()
}

// take notes what a look has shown.
func (v *Vitals) take(answer node.RuntimeStatus, left signals, now time.Time) {
	first, before := v.at.IsZero(), v.known
	v.at, v.known = now, answer
	v.tell(left.unread)
	changed := v.record.Take(health.Facts{
		RuntimeReady: answer.Ready, NetworkReady: answer.NetworkReady, Message: answer.Message, Signals: left.known, Unread: left.unread,
	}, now)
	v.lack(health.Short(v.record.Conditions()))
	switch {
	case first:
		close(v.looked)
	case changed || !reflect.DeepEqual(answer, before):
		v.changed.Ring()
	}
}

// lack notes what the node is short of from now on, and logs when that becomes something else.
func (v *Vitals) lack(short []corev1.NodeConditionType) {
	before := v.Short()
	v.short.Store(&short)
	switch {
	case slices.Equal(before, short):
	case len(short) == 0:
		v.Log.Info("the node is short of nothing any more", "before", before)
	default:
		v.Log.Warn("the node is short of something: it refuses new pods that it need not take", "conditions", short)
	}
}

// signals are those that could be read, and those that could not.
type signals struct {
	known  []health.Signal
	unread []health.Unread
}

func (v *Vitals) measure(ctx context.Context) signals {
	if v.Signals == nil {
		return signals{}
	}
	known, unread := v.Signals(ctx)
	return signals{health.Hold(known, v.Thresholds), unread}
}

// tell logs what cannot be read once, not with every look.
func (v *Vitals) tell(unread []health.Unread) {
	if len(unread) > 0 && !slices.Equal(unread, v.unread) {
		v.Log.Warn("some of what the node has left cannot be read", "unread", unread)
	}
	v.unread = unread
}

func (v *Vitals) fresh(now time.Time) bool {
	select {
	case <-v.stale:
		return false
	default:
		return !v.at.IsZero() && now.Sub(v.at) < vitalsFresh
	}
}
