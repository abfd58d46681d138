package shutdown

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"nodal/node"
	"nodal/node/store"
)

// again is the time after which an end that could not be journalled is tried again.
const again = time.Second

// Config holds the parts of a Machine.
type Config struct {
	Store  *store.Store
	Phases []node.ShutdownPhase // by priority, the lowest first; empty if a shutdown does not wait for pods
	// Resume lets the pods run again that a shutdown has halted, and admits those that it has kept out.
	Resume func(time.Time) error
	Memory Memory // nil remembers nothing
	Report func(node.Event)
	Clock  func() time.Time
	Log    *slog.Logger
}

// Memory keeps when the machine last shut down.
type Memory interface {
	Load() Times
	Save(Times) error
}

// Times say when the last shutdown began and when all pods had ended; zero if that is not known.
type Times struct {
	Start time.Time `json:"startTime"`
	End   time.Time `json:"endTime"`
}

// Machine knows whether the machine shuts down, and ends its pods then. Its methods may be called from any goroutine.
type Machine struct {
	Config
	state   atomic.Pointer[node.Shutdown]
	times   atomic.Pointer[Times]
	changed node.Bell

	mu       sync.Mutex // held while pods are made to end, and while they are let run again
	progress Progress
	told     bool          // how the machine is; until then the agent before this one may have begun a shutdown
	halted   bool          // pods may be halted that have to run again
	ended    chan struct{} // closed once the present shutdown waits for nothing any more
	wakes    chan struct{} // received from by Run
}

// New makes the Machine of an agent that starts. Until it is told otherwise, the machine stays up.
func New(c Config) *Machine {
	m := &Machine{Config: c, wakes: make(chan struct{}, 1)}
	m.state.Store(&node.Shutdown{})
	m.times.Store(&Times{})
	if c.Memory != nil {
		kept := c.Memory.Load()
		m.times.Store(&kept)
	}
	return m
}

// State returns how far the shutdown has come. It never waits.
func (m *Machine) State() node.Shutdown { return *m.state.Load() }

// Down reports whether the machine shuts down. It never waits.
func (m *Machine) Down() bool { return !m.State().Began.IsZero() }

// Times returns when the last shutdown began and ended.
func (m *Machine) Times() Times { return *m.times.Load() }

// Changed returns a channel that is closed when the state differs.
func (m *Machine) Changed() <-chan struct{} { return m.changed.Heard() }

// Run ends pods while the machine shuts down, until the context ends.
func (m *Machine) Run(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		changed := m.Store.Changed()
		wake := m.Pass()
		if !m.Down() {
			changed = nil
		}
		if !wake.IsZero() {
			timer.Reset(wake.Sub(m.Clock()))
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-m.wakes:
		case <-timer.C:
		}
	}
}

// GoDown begins a shutdown, unless one is under way. The channel is closed once no pod is waited for any more, or if
// the machine stays up after all.
func (m *Machine) GoDown(cause string) (ended <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.Down() {
		return m.ended
	}
	began := m.Clock()
	last := m.Times()
	if age := began.Sub(last.Start); !m.told && last.End.IsZero() && 0 <= age && age < m.Total() {
		began = last.Start // the agent before this one has begun it
	}
	m.Log.Info("the machine shuts down: its pods end", "cause", cause)
	m.report("Shutdown manager detected shutdown event")
	m.told, m.halted = true, false
	m.progress, m.ended = Progress{Since: began}, make(chan struct{})
	m.remember(Times{Start: began})
	m.show(node.Shutdown{Began: began, Cause: cause})
	m.wake()
	return m.ended
}

// report adds an event of the node, in Kubernetes' words.
func (m *Machine) report(message string) {
	m.Report(node.Event{Time: m.Clock(), Reason: "Shutdown", Message: message})
}

// wake has Run decide again.
func (m *Machine) wake() {
	select {
	case m.wakes <- struct{}{}:
	default:
	}
}

// StayUp ends a shutdown that was called off, and has halted pods run again. An agent calls it when it starts, too,
// once it knows that no shutdown is under way.
func (m *Machine) StayUp() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if state := m.State(); m.Down() {
		m.Log.Info("the machine stays up after all: its pods run again")
		m.report("Shutdown manager detected shutdown cancellation")
		m.end(state, node.Shutdown{})
	}
	m.told, m.halted = true, true
	m.resume(m.Clock())
	m.wake()
}

// resume has halted pods run again, and is repeated until it succeeds.
func (m *Machine) resume(now time.Time) (wake time.Time) {
	if !m.halted {
		return time.Time{}
	}
	if err := m.Resume(now); err != nil {
		m.Log.Error("cannot let pods run again that a shutdown has halted", "err", err)
		return now.Add(again)
	}
	m.halted = false
	return time.Time{}
}

// Pass decides, and has pods end. It returns when to decide again if nothing changes before; zero means never.
func (m *Machine) Pass() (wake time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	state, now := m.State(), m.Clock()
	if state.Began.IsZero() {
		return m.resume(now)
	}
	views, _ := m.Store.Views()
	step := Next(Situation{Phases: m.Phases, Began: state.Began, Progress: m.progress, Pods: pods(views, now), Now: now})
	if err := m.endPods(step.End, views, now); err != nil {
		m.Log.Error("cannot journal that pods end for the shutdown", "err", err)
		step.Wake = now.Add(again)
	}
	m.progress = step.Progress
	if shown := m.shown(state, step); step.Done {
		m.end(state, shown)
	} else {
		m.show(shown)
	}
	return step.Wake
}

// shown returns the state for readers.
func (m *Machine) shown(before node.Shutdown, step Step) node.Shutdown {
	state := node.Shutdown{
		Began: before.Began, Cause: before.Cause, Until: step.Until, Waits: step.Waits, Done: step.Done,
	}
	if step.Phase < len(m.Phases) {
		state.Priority = m.Phases[step.Phase].Priority
	}
	return state
}

// end notes that no pod is waited for any more. The machine may be gone once that is known.
func (m *Machine) end(before, after node.Shutdown) {
	if before.Done {
		m.show(after)
		return
	}
	now := m.Clock()
	m.Log.Info("the shutdown waits for no pod any more", "took", now.Sub(before.Began))
	m.remember(Times{Start: before.Began, End: now})
	m.show(after)
	close(m.ended)
}

// show publishes the state if it differs.
func (m *Machine) show(state node.Shutdown) {
	before := m.State()
	same := before.Began.Equal(state.Began) && before.Priority == state.Priority && before.Done == state.Done &&
		before.Until.Equal(state.Until) && slices.Equal(before.Waits, state.Waits)
	m.state.Store(&state)
	if !same {
		m.changed.Ring()
	}
}

func (m *Machine) remember(t Times) {
	m.times.Store(&t)
	if m.Memory == nil {
		return
	}
	if err := m.Memory.Save(t); err != nil {
		m.Log.Warn("cannot keep when the machine shuts down", "err", err)
	}
}

// Total returns the time that a shutdown takes at most.
func (m *Machine) Total() (sum time.Duration) {
	for _, phase := range m.Phases {
		sum += phase.Period
	}
	return sum
}
