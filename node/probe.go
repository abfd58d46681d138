package node

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ProbeKind names the purpose of a probe; "" stands for none.
type ProbeKind string

const (
	StartupProbe   ProbeKind = "Startup"
	ReadinessProbe ProbeKind = "Readiness"
	LivenessProbe  ProbeKind = "Liveness"

	// FailedHook is no probe. It stands for a postStart hook whose failure condemns a run as
	// a failed probe does.
	FailedHook ProbeKind = "PostStartHook"
)

// Probe is one probe of one run, to be asked again and again. It is plain data and carries all that
// asking needs.
type Probe struct {
	UID         types.UID // of the pod
	Container   string
	ID          string // of the run
	Kind        ProbeKind
	Spec        *corev1.Probe
	Ports       []corev1.ContainerPort // that the probe may name
	Address     string                 // of the pod
	HostNetwork bool                   // the pod's loopback is the machine's
	StartedAt   time.Time              // when the run began
}

// Probed is one result of a probe: as many answers in a row as its threshold asks for have agreed.
type Probed struct {
	Key       Key
	Container string
	ID        string
	Kind      ProbeKind
	OK        bool
	At        time.Time
}

// Health holds the results of the probes and the postStart hook of one run.
type Health struct {
	ID      string    `json:"ID"`      // of the run
	Hooked  time.Time `json:"Hooked"`  // when the postStart hook had ended; zero before
	Started time.Time `json:"Started"` // when the startup probe succeeded; zero before
	Ready   bool      `json:"Ready"`   // the readiness probe's last result
	Since   time.Time `json:"Since"`   // when that last changed; zero if never
	Failed  ProbeKind `json:"Failed"`  // the probe that has condemned the run

	FailedAt time.Time `json:"FailedAt"` // when that result came
}

func (h Health) String() string {
	text := "not ready"
	if h.Ready {
		text = "ready"
	}
	if !h.Started.IsZero() {
		text = "started, " + text
	}
	if !h.Hooked.IsZero() {
		text = "past its postStart hook, " + text
	}
	if h.Failed != "" {
		text += ", failed " + string(h.Failed)
	}
	return text
}

// After returns the health after one more result. A passing liveness probe changes nothing.
func (h Health) After(p Probed) Health {
	switch {
	case p.Kind == ReadinessProbe && p.OK != h.Ready:
		h.Ready, h.Since = p.OK, p.At
	case p.Kind == ReadinessProbe:
	case !p.OK && h.Failed == "":
		h.Failed, h.FailedAt = p.Kind, p.At
	case p.Kind == StartupProbe && p.OK && h.Started.IsZero():
		h.Started = p.At
	}
	return h
}

// Told returns the health after what a cluster was told of the run, perhaps by another kubelet, and when the readiness of
// the pod's containers has changed there last. What this kubelet has seen since counts more. A run that has started is past
// its postStart hook.
func (h Health) Told(s *corev1.ContainerStatus, changed time.Time) Health {
	if s.Started != nil && *s.Started {
		began := s.State.Running.StartedAt.Time
		if h.Hooked.IsZero() {
			h.Hooked = began
		}
		if h.Started.IsZero() {
			h.Started = began
		}
	}
	if changed.After(h.Since) {
		h.Ready, h.Since = s.Ready, changed
	}
	return h
}

// Condemns reports whether a failed probe or hook is why a run ends, or has ended. A run that had
// ended before the failure ended for another reason.
func (h Health) Condemns(run *Container) bool {
	return h.Failed != "" && (run.FinishedAt.IsZero() || !run.FinishedAt.Before(h.FailedAt))
}

// Changed returns when the health last changed.
func (h Health) Changed() time.Time {
	last := h.Hooked
	for _, at := range []time.Time{h.Started, h.Since} {
		if at.After(last) {
			last = at
		}
	}
	return last
}

// HealthOf returns the health of a run: the zero value with its ID if it has no results.
func (o *Observed) HealthOf(run *Container) Health {
	if h := o.Health[run.Name]; h.ID == run.ID {
		return h
	}
	return Health{ID: run.ID}
}

// Started reports whether a container runs and its startup probe, if it has one, has succeeded.
// Package life also asks about the postStart hook.
func (o *Observed) Started(run *Container, c *corev1.Container) bool {
	return run.State == ContainerRunning && (c.StartupProbe == nil || !o.HealthOf(run).Started.IsZero())
}

// Ready reports whether a container has started and its readiness probe, if it has one, has
// succeeded.
func (o *Observed) Ready(run *Container, c *corev1.Container) bool {
	return o.Started(run, c) && (c.ReadinessProbe == nil || o.HealthOf(run).Ready)
}

// ProbeOf returns a container's probe of a kind, or nil.
func ProbeOf(c *corev1.Container, kind ProbeKind) *corev1.Probe {
	switch kind {
	case StartupProbe:
		return c.StartupProbe
	case ReadinessProbe:
		return c.ReadinessProbe
	case LivenessProbe:
		return c.LivenessProbe
	}
	return nil
}

// ProbeCount counts the answers of a run's probe.
type ProbeCount struct {
	Key       Key
	UID       types.UID // of the pod
	Container string
	Kind      ProbeKind
	Successes uint64
	Failures  uint64
	Unknown   uint64    // the probe could not be asked
	Took      Histogram // by successes
}

// Histogram counts durations by their length.
type Histogram struct {
	Counts [11]uint64 // by the least bound that they do not exceed; longer ones are in none
	Sum    time.Duration
}

// Bounds returns the usual ones of Prometheus.
func (Histogram) Bounds() [11]time.Duration {
	return [...]time.Duration{
		5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond,
		250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2500 * time.Millisecond, 5 * time.Second, 10 * time.Second,
	}
}

// Add counts one more duration.
func (s *Histogram) Add(d time.Duration) {
	s.Sum += d
	for i, bound := range s.Bounds() {
		if d <= bound {
			s.Counts[i]++
			return
		}
	}
}
