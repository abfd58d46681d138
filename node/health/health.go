package health

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
)

// Facts holds what was seen of the node at one time.
type Facts struct {
	Down         bool // the machine shuts down
	RuntimeReady bool
	NetworkReady bool
	Message      string // why one of them is not
	Reading
}

// Reading holds what is left of the resources that a node can run short of.
type Reading struct {
	At      time.Time
	Signals []Signal // those that could be read
	Unread  []Unread // those that could not
	Apart   bool     // images lie on another file system than the node's own files
}

// Signal returns a signal by its name, if it could be read.
func (r Reading) Signal(name string) (s Signal, read bool) {
	for _, s := range r.Signals {
		if s.Name == name {
			return s, true
		}
	}
	return s, false
}

// Signal says how much is left of a resource. Its name is that of an eviction threshold, such
// as memory.available.
type Signal struct {
	Name           string
	Left, Capacity int64
}

// Unread is a signal that could not be read.
type Unread struct{ Name, Why string }

func (u Unread) String() string { return u.Name + ": " + u.Why }

// pressure is a condition that follows from signals.
type pressure struct {
	kind       corev1.NodeConditionType
	signals    []string // how their names begin
	low, fine  string   // reasons
	says, well string
}

func pressures() []pressure {
	return []pressure{
		{
			corev1.NodeMemoryPressure, []string{"memory.", "allocatableMemory."}, "KubeletHasInsufficientMemory", "KubeletHasSufficientMemory",
			"kubelet has insufficient memory available", "kubelet has sufficient memory available",
		},
		{
			corev1.NodeDiskPressure, []string{"nodefs.", "imagefs.", "containerfs."}, "KubeletHasDiskPressure", "KubeletHasNoDiskPressure",
			"kubelet has disk pressure", "kubelet has no disk pressure",
		},
		{
			corev1.NodePIDPressure, []string{"pid."}, "KubeletHasInsufficientPID", "KubeletHasSufficientPID",
			"kubelet has insufficient PID available", "kubelet has sufficient PID available",
		},
	}
}

// Record holds the node's state at the last look.
type Record struct {
	Rules []Rule        // whose crossing is a shortage
	Hold  time.Duration // for which a shortage stays reported after it is over

	pressure   Pressure
	conditions []corev1.NodeCondition
	short      map[corev1.NodeConditionType]shortage
}

// shortage is a resource that the node lacked, with the time when that was last seen.
type shortage struct {
	of []string
	at time.Time
}

// Take makes the conditions follow what is seen now, and reports whether one of them has changed.
func (r *Record) Take(f Facts, now time.Time) (changed bool) {
	if r.short == nil {
		r.short = map[corev1.NodeConditionType]shortage{}
	}
	rules, beyond := Split(complete(r.Rules, f.Apart), f.Reading)
	r.pressure = Pressure{
		Reading: f.Reading, Rules: rules, Crossings: cross(rules, r.pressure.Crossings, f.Reading, now), Beyond: beyond,
	}
	present := make([]corev1.NodeCondition, 0, 4)
	for _, p := range pressures() {
		present = append(present, r.under(p, f, now))
	}
	present = append(present, ready(f))
	for i := range present {
		p := &present[i]
		p.LastTransitionTime = metav1.NewTime(now)
		before := slices.IndexFunc(r.conditions, func(c corev1.NodeCondition) bool { return c.Type == p.Type })
		if before >= 0 && r.conditions[before].Status == p.Status {
			p.LastTransitionTime = r.conditions[before].LastTransitionTime
		}
	}
	changed = !slices.Equal(r.conditions, present)
	r.conditions = present
	return changed
}

// Conditions returns the conditions in Kubernetes' order. The slice is shared: do not write to
// it.
func (r *Record) Conditions() []corev1.NodeCondition { return r.conditions }

// Pressure returns how far the node is from running short. Its slices are shared: do not write to them.
func (r *Record) Pressure() Pressure { return r.pressure }

// under derives the condition of one pressure. A shortage that comes and goes within Hold is one
// shortage.
func (r *Record) under(p pressure, f Facts, now time.Time) corev1.NodeCondition {
	known := slices.ContainsFunc(f.Signals, func(s Signal) bool { return p.about(s.Name) })
	var low []string
	for _, c := range r.pressure.Crossings {
		_, read := f.Reading.Signal(c.Rule.Signal)
		named := slices.Contains(low, c.Rule.Signal) || OfContainerFs(c.Rule.Signal) && len(low) > 0
		if p.about(c.Rule.Signal) && read && !named {
			low = append(low, c.Rule.Signal)
		}
	}
	// A disk that has room says nothing about another that could not be measured.
	unread := slices.ContainsFunc(f.Unread, func(u Unread) bool { return p.about(u.Name) })
	if len(low) > 0 {
		r.short[p.kind] = shortage{low, now}
	}
	last, was := r.short[p.kind]
	switch {
	case was && now.Sub(last.at) <= r.Hold:
		return corev1.NodeCondition{
			Type: p.kind, Status: corev1.ConditionTrue, Reason: p.low,
			Message: p.says + ": " + strings.Join(last.of, ", "), // how much is left changes all the time
		}
	case !known || unread:
		return corev1.NodeCondition{Type: p.kind, Status: corev1.ConditionUnknown, Reason: "NodeStatusUnknown", Message: p.unread(f)}
	}
	return corev1.NodeCondition{Type: p.kind, Status: corev1.ConditionFalse, Reason: p.fine, Message: p.well}
}

func (p pressure) about(signal string) bool {
	return slices.ContainsFunc(p.signals, func(begin string) bool { return strings.HasPrefix(signal, begin) })
}

func (p pressure) unread(f Facts) string {
	says, why := "how much is left could not be read", []string(nil)
	for _, u := range f.Unread {
		if p.about(u.Name) {
			why = append(why, u.String())
		}
	}
	if len(why) == 0 {
		return says
	}
	return says + ": " + strings.Join(why, "; ")
}

func ready(f Facts) corev1.NodeCondition {
	c := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionFalse, Reason: "KubeletNotReady"}
	switch {
	case f.Down:
		c.Message = node.ShuttingDownMessage
	case !f.RuntimeReady:
		c.Message = "container runtime is down: " + f.Message
	case !f.NetworkReady:
		c.Message = "container runtime network not ready: " + f.Message
	default:
		c.Status, c.Reason, c.Message = corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready status"
	}
	return c
}
