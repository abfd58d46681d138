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
	// pressureFresh is the age up to which a measurement answers readers.
	pressureFresh = time.Second
)

// VitalsConfig holds the sources of the vitals.
type VitalsConfig struct {
	Runtime RuntimeHealth
	// Signals measures what is left of the resources that the node may run short of, and names those that could not be
	// read. It is not called concurrently. nil disables it.
	Signals func(context.Context) health.Reading
	Rules   []health.Rule // by which the node is short
	Down    func() bool   // whether the machine shuts down; nil if that is never known
	Hold    time.Duration // for which a shortage has to be over before its condition ends
	Clock   func() time.Time
	Log     *slog.Logger
}

// RuntimeHealth reads the health of the container runtime.
type RuntimeHealth interface {
	Status(ctx context.Context) (node.RuntimeStatus, error)
	// Changed returns a channel that is closed when the status may have changed.
	Changed() <-chan struct{}
}

// Vitals hold the health of the node: the last status of its runtime, its conditions, and what it runs short of. All
// callers share one look. Its methods may be called from any goroutine.
type Vitals struct {
	VitalsConfig
	changed node.Bell // rings when a look differs from the one before
	looked  chan struct{}
	short   atomic.Pointer[[]corev1.NodeConditionType]

	looking sync.Mutex // held while a look at the runtime is under way
	at      time.Time
	stale   <-chan struct{} // closed when the last look may be out of date

	measuring sync.Mutex // held while signals are measured

	mu     sync.Mutex // of what the last looks have shown
	known  node.RuntimeStatus
	unread []health.Unread
	beyond []health.Beyond
	record health.Record
}

// NewVitals makes the vitals of a node before its first look.
func NewVitals(c VitalsConfig) *Vitals {
	return &Vitals{VitalsConfig: c, looked: make(chan struct{}), record: health.Record{Hold: c.Hold, Rules: c.Rules}}
}

// SetRules changes by what the node is short, and for how long a shortage has to be over. The last measurement is judged
// by the new rules at once.
func (v *Vitals) SetRules(rules []health.Rule, hold time.Duration) {
	v.mu.Lock()
	v.record.Rules, v.record.Hold = rules, hold
	last, looked := v.record.Pressure().Reading, v.record.Conditions() != nil
	v.mu.Unlock()
	if looked {
		v.take(nil, last, v.Clock())
	}
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
	v.looking.Lock()
	defer v.looking.Unlock()
	if now := v.Clock(); !v.fresh(now) {
		v.look(ctx, now)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.known, v.record.Conditions()
}

// look asks the runtime and measures the signals, side by side.
func (v *Vitals) look(ctx context.Context, now time.Time) {
	v.stale = v.Runtime.Changed()
	// Others wait for this answer, so it must not fail because one client is gone.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), vitalsTimeout)
	defer cancel()
	measured := make(chan health.Reading, 1)
	go func() { measured <- v.measure(ctx) }()
	answer, err := v.Runtime.Status(ctx)
	v.mu.Lock()
	if err != nil {
		answer = node.RuntimeStatus{Name: v.known.Name, Version: v.known.Version, Message: err.Error()}
	}
	v.mu.Unlock()
	v.take(&answer, <-measured, now)
	if v.at.IsZero() {
		close(v.looked)
	}
	v.at = now
}

// Measure measures the signals now, and returns how far the node is from running short. It does not wait for the
// runtime's status.
func (v *Vitals) Measure(ctx context.Context) health.Pressure {
	select {
	case <-v.looked:
	default: // the conditions begin with the first look
		v.Look(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, vitalsTimeout)
	defer cancel()
	return v.take(nil, v.measure(ctx), v.Clock())
}

// Pressure returns the last measurement while it is fresh, and measures otherwise.
func (v *Vitals) Pressure(ctx context.Context) health.Pressure {
	v.mu.Lock()
	last := v.record.Pressure()
	v.mu.Unlock()
	if v.Clock().Sub(last.At) < pressureFresh {
		return last
	}
	return v.Measure(ctx)
}

// Heed has the conditions follow a shutdown that begins or is called off, without another look.
func (v *Vitals) Heed() {
	select {
	case <-v.looked:
		v.mu.Lock()
		last := v.record.Pressure().Reading
		v.mu.Unlock()
		v.take(nil, last, v.Clock())
	default: // the first look sees it
	}
}

// take notes what was seen; answer is nil if the runtime was not asked. A reading that is older than the last one is
// dropped: two measurements may overtake each other.
func (v *Vitals) take(answer *node.RuntimeStatus, reading health.Reading, now time.Time) health.Pressure {
	v.mu.Lock()
	defer v.mu.Unlock()
	if last := v.record.Pressure().Reading; reading.At.Before(last.At) {
		reading = last
	}
	first, before := v.record.Conditions() == nil, v.known
	if answer != nil {
		v.known = *answer
	}
	v.logUnread(reading.Unread)
	changed := v.record.Take(health.Facts{
		Down: v.Down != nil && v.Down(), RuntimeReady: v.known.Ready, NetworkReady: v.known.NetworkReady, Message: v.known.Message, Reading: reading,
	}, now)
	v.setShort(health.Pressures(v.record.Conditions()))
	changed = v.setBeyond(v.record.Pressure().Beyond) || changed
	if !first && (changed || !reflect.DeepEqual(v.known, before)) {
		v.changed.Ring()
	}
	return v.record.Pressure()
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

// setBeyond notes the thresholds that can never hold, and logs those that are new. It reports whether others are so now.
func (v *Vitals) setBeyond(beyond []health.Beyond) (changed bool) {
	same := func(a, b health.Beyond) bool { return a.String() == b.String() }
	if slices.EqualFunc(v.beyond, beyond, same) {
		return false
	}
	for _, b := range beyond {
		known := slices.ContainsFunc(v.beyond, func(a health.Beyond) bool { return same(a, b) })
		if !known && !health.OfContainerFs(b.Signal) {
			v.Log.Warn("a setting needs a look", "setting", b.Setting(), "problem", b.Problem(), "remedy", b.Remedy())
		}
	}
	v.beyond = beyond
	return true
}

// Beyond returns the thresholds of eviction that can never hold, as of the last measurement. Do not write to the slice.
func (v *Vitals) Beyond() []health.Beyond {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.beyond
}

func (v *Vitals) measure(ctx context.Context) health.Reading {
	v.measuring.Lock()
	defer v.measuring.Unlock()
	at := v.Clock()
	if v.Signals == nil {
		return health.Reading{At: at}
	}
	reading := v.Signals(ctx)
	reading.At = at
	return reading
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
