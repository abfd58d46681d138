package health

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Resources beside Kubernetes' own that a node may run short of.
const (
	Inodes corev1.ResourceName = "inodes"
	PIDs   corev1.ResourceName = "pids"
)

// kinds lists the signals of a node in the order in which shortages are answered, with the resources that they
// measure. Memory comes first: without it the kernel ends processes itself.
var kinds = []struct {
	signal string
	lacks  corev1.ResourceName
}{
	{MemoryAvailable, corev1.ResourceMemory},
	{AllocatableMemoryAvailable, corev1.ResourceMemory},
	{NodeFsAvailable, corev1.ResourceEphemeralStorage},
	{NodeFsInodesFree, Inodes},
	{ImageFsAvailable, corev1.ResourceEphemeralStorage},
	{ImageFsInodesFree, Inodes},
	{containerFs + available, corev1.ResourceEphemeralStorage},
	{containerFs + inodesFree, Inodes},
	{PIDAvailable, PIDs},
}

// SignalNames returns the names of all signals, the most urgent first.
func SignalNames() []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.signal
	}
	return names
}

// Lacks returns the resource that a signal measures, in Kubernetes' words for evictions.
func Lacks(signal string) corev1.ResourceName {
	if i := urgency(signal); i < len(kinds) {
		return kinds[i].lacks
	}
	return ""
}

func urgency(signal string) int {
	for i, k := range kinds {
		if k.signal == signal {
			return i
		}
	}
	return len(kinds)
}

// OfDisk reports whether a signal is about a file system.
func OfDisk(signal string) bool {
	lacks := Lacks(signal)
	return lacks == corev1.ResourceEphemeralStorage || lacks == Inodes
}

// OfContainerFs reports whether a signal is about the file system of containers. Its thresholds follow from the others.
func OfContainerFs(signal string) bool { return strings.HasPrefix(signal, containerFs) }

// Rule is a threshold below which the node is short of a resource.
type Rule struct {
	Signal  string
	Least   Threshold     // has to be left
	Grace   time.Duration // for which it may be crossed before a pod has to go; zero for a hard threshold
	Reclaim Threshold     // has to be left besides, before a shortage that was answered is over
}

// Crossing is a rule that does not hold.
type Crossing struct {
	Rule
	Signal Signal    // as it was last measured
	Least  int64     // that had to be left then
	Since  time.Time // when it was first seen
	Due    bool      // its grace is over
}

// cross returns the rules that a reading shows as crossed, the most urgent first. A rule of a signal that could not be
// read stays as it was. A crossing that was due ends only once the rule's Reclaim is left too.
func cross(rules []Rule, before []Crossing, r Reading, now time.Time) []Crossing {
	var all []Crossing
	for _, rule := range rules {
		at := slices.IndexFunc(before, func(c Crossing) bool {
			return c.Rule.Signal == rule.Signal && c.Grace == rule.Grace
		})
		signal, read := r.Signal(rule.Signal)
		switch {
		case !read && at >= 0:
			all = append(all, before[at])
			continue
		case !read:
			continue
		}
		c := Crossing{Rule: rule, Signal: signal, Least: rule.Least.amount(signal.Capacity), Since: now}
		if at >= 0 {
			c.Since = before[at].Since
		}
		least := c.Least
		if at >= 0 && before[at].Due {
			least += rule.Reclaim.amount(signal.Capacity)
		}
		c.Due = now.Sub(c.Since) >= rule.Grace
		if c.Least > 0 && signal.Left < least {
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(a, b Crossing) int {
		return cmp.Or(cmp.Compare(urgency(a.Rule.Signal), urgency(b.Rule.Signal)), cmp.Compare(a.Grace, b.Grace))
	})
	return all
}

func (t Threshold) amount(capacity int64) int64 {
	q := t.Of(*resource.NewQuantity(capacity, resource.BinarySI))
	return q.Value()
}

// complete adds the rules of the file system of containers. These are those of the images if they lie apart from the
// node's own files, and of the node's own files otherwise.
func complete(rules []Rule, apart bool) []Rule {
	from := nodeFs
	if apart {
		from = imageFs
	}
	all := slices.Clip(rules)
	for _, rule := range rules {
		if kind, ok := strings.CutPrefix(rule.Signal, from); ok {
			rule.Signal = containerFs + kind
			all = append(all, rule)
		}
	}
	return all
}

// Pressure holds the last reading of a node, and the rules that it is held against.
type Pressure struct {
	Reading
	Rules     []Rule     // that hold now
	Crossings []Crossing // the most urgent first
	Beyond    []Beyond   // rules that can never hold, and do not hold therefore
}

// Crossed returns the crossing of a rule, or nil while it holds.
func (p Pressure) Crossed(rule Rule) *Crossing {
	for i := range p.Crossings {
		if c := &p.Crossings[i]; c.Rule.Signal == rule.Signal && c.Grace == rule.Grace {
			return c
		}
	}
	return nil
}

// Amount writes a number of bytes, inodes or processes as Kubernetes does.
func Amount(of corev1.ResourceName, n int64) string {
	format := resource.BinarySI
	if of == Inodes || of == PIDs {
		format = resource.DecimalSI
	}
	return resource.NewQuantity(n, format).String()
}

// Due returns the crossings that have to be answered now, the most urgent first. A signal that was not read this time
// is not answered: it may have got better.
func (p Pressure) Due() []Crossing {
	var due []Crossing
	for _, c := range p.Crossings {
		if _, read := p.Reading.Signal(c.Rule.Signal); c.Due && read {
			due = append(due, c)
		}
	}
	return due
}

// Gap returns how much of a signal is left above its highest threshold, and whether it has one. It is negative below.
func (p Pressure) Gap(s Signal) (gap int64, bounded bool) {
	for _, rule := range p.Rules {
		if least := rule.Least.amount(s.Capacity); rule.Signal == s.Name && least > 0 {
			if left := s.Left - least; !bounded || left < gap {
				gap, bounded = left, true
			}
		}
	}
	return gap, bounded
}

// With returns the rules that hold now and would not if so much more were used, the most urgent first.
func (p Pressure) With(more corev1.ResourceList) []Crossing {
	var all []Crossing
	for _, rule := range p.Rules {
		wanted := more[Lacks(rule.Signal)]
		signal, read := p.Signal(rule.Signal)
		if !read || wanted.Sign() <= 0 || p.Crossed(rule) != nil {
			continue
		}
		signal.Left -= wanted.Value()
		if least := rule.Least.amount(signal.Capacity); least > 0 && signal.Left < least {
			all = append(all, Crossing{Rule: rule, Signal: signal, Least: least})
		}
	}
	slices.SortStableFunc(all, func(a, b Crossing) int { return cmp.Compare(urgency(a.Rule.Signal), urgency(b.Rule.Signal)) })
	return all
}
