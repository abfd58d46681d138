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
	// A look is needed although there are events: no runtime has one for its network, and no file system for its space.
	vitalsLook = 10 * time.Second
)

// VitalsConfig holds the sources of the vitals.
type VitalsConfig struct {
	Runtime RuntimeHealth
	// Signals measures what is left of the resources that the node may run short of, and names those that could not be
	// read. nil disables it.
	Signals    func(context.Context) ([]health.Signal, []health.Unread)
	Thresholds map[string]health.Threshold // below which the node is short, by signal
	Hold       time.Duration               // for which a shortage has to be over before its condition ends
	Clock      func() time.Time
	Log        *slog.Logger
}

// RuntimeHealth reads the health of the container runtime.
type RuntimeHealth interface {
	Status(ctx context.Context) (node.RuntimeStatus, error)
	// Changed returns a channel that is closed when the status may have changed.
	Changed() <-chan struct{}
}

// Vitals hold the health of the node: the last status of its runtime, and its conditions. All callers share one look.
// Its methods may be called from any goroutine.
type Vitals struct {
	VitalsConfig
	changed node.Bell // rings when a look differs from the one before
	looked  chan struct{}
	short   atomic.Pointer[[]corev1.NodeConditionType]

	mu     sync.Mutex // held while a look is under way
	at     time.Time
	stale  <-chan struct{} // closed when the last look may be out of date
	known  node.RuntimeStatus
	unread []health.Unread
	record health.Record
}

// NewVitals makes the vitals of a node before its first look.
func NewVitals(c VitalsConfig) *Vitals {
	return &Vitals{VitalsConfig: c, looked: make(chan struct{}), record: health.Record{Hold: c.Hold}}
}

// Run looks at the node until the context ends, even without readers: the time since which a condition holds is known
// only from the look that saw it begin.
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

// Changed returns a channel that is closed when a look differs from the one before it.
func (v *Vitals) Changed() <-chan struct{} { return v.changed.Heard() }

// Looked returns a channel that is closed after the first look.
func (v *Vitals) Looked() <-chan struct{} { return v.looked }

// Short returns the conditions of shortage that hold. It never waits, and returns none before the first look.
func (v *Vitals) Short() []corev1.NodeConditionType {
	if short := v.short.Load(); short != nil {
		return *short
	}
	return nil
}

// Look returns the last look while it is fresh, and looks otherwise. A runtime that does not answer is a result too.
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

// take notes the result of a look.
func (v *Vitals) take(answer node.RuntimeStatus, left signals, now time.Time) {
	first, before := v.at.IsZero(), v.known
	v.at, v.known = now, answer
	v.logUnread(left.unread)
	changed := v.record.Take(health.Facts{
		RuntimeReady: answer.Ready, NetworkReady: answer.NetworkReady, Message: answer.Message,
		Signals: left.known, Unread: left.unread,
	}, now)
	v.setShort(health.Pressures(v.record.Conditions()))
	switch {
	case first:
		close(v.looked)
	case changed || !reflect.DeepEqual(answer, before):
		v.changed.Ring()
	}
}

// setShort notes the shortages of the node, and logs when they change.
func (v *Vitals) setShort(short []corev1.NodeConditionType) {
	before := v.Short()
	v.short.Store(&short)
	switch {
	case slices.Equal(before, short):
	case len(short) == 0:
		v.Log.Info("the node is no longer short of any resource", "before", before)
	default:
		v.Log.Warn("the node is short of a resource: it refuses new pods that are not critical", "conditions", short)
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

// logUnread logs the signals that cannot be read once, not with every look.
func (v *Vitals) logUnread(unread []health.Unread) {
	if len(unread) > 0 && !slices.Equal(unread, v.unread) {
		v.Log.Warn("cannot read some of the node's resources", "unread", unread)
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
