package shutdown

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"nodal/node"
)

// Pod holds what a decision needs of a pod that is there.
type Pod struct {
	Key      node.Key
	Priority int32
	Grace    time.Duration // that its manifest gives it
	After    []node.Key    // the pods that it starts after
	Until    time.Time     // by when it has to end already; zero if nothing has asked it to
	Gone     bool          // nothing of it runs
}

// Progress says how far a shutdown has come.
type Progress struct {
	Phase int       // index of the present one; the number of phases once all are through
	Since time.Time // when it began
}

// Situation holds all that a decision depends on.
type Situation struct {
	Phases []node.ShutdownPhase // by priority, the lowest first
	Began  time.Time
	Progress
	Pods []Pod
	Now  time.Time
}

// Ending asks a pod to end by a time.
type Ending struct {
	Key   node.Key
	Until time.Time
}

// Step says which pods end now, and how far the shutdown is then.
type Step struct {
	Progress
	Until time.Time  // when the present phase ends at the latest
	End   []Ending   // in the order of their keys
	Waits []node.Key // pods of the present phase that still run, likewise
	Done  bool       // nothing is waited for any more
	Wake  time.Time  // the next decision without a change
}

// Next decides which pods have to end now, and by when. A phase is over when its pods have ended, or when its time is
// used up, as in Kubernetes. Within a phase, a pod that others start after ends once those have. The time of the phase
// is shared between them: a pod ends early enough for the pods before it to have their grace periods too.
func Next(s Situation) Step {
	s.Since = earliest(s.Since, s.Now) // or a clock that was set back prolongs the phase
	step, line := Step{Progress: s.Progress}, newLine(s)
	for ; step.Phase < len(s.Phases); step.Phase, step.Since = step.Phase+1, s.Now {
		pods := line.phase(step.Phase)
		step.Until = s.latest(step.Progress)
		over := !s.Now.Before(step.Until)
		turns := line.turns(pods, s.Phases[step.Phase].Period, step.Until)
		step.Waits, step.Wake = nil, step.Until
		for _, p := range pods {
			if p.Gone {
				continue
			}
			step.Waits = append(step.Waits, p.Key)
			turn := turns[line.rank[p.Key]]
			switch {
			case !over && !line.free(p, pods) && s.Now.Before(turn.begin):
				step.Wake = earliest(step.Wake, turn.begin)
			case p.Until.IsZero():
				step.End = append(step.End, Ending{p.Key, latest(s.Now, earliest(s.Now.Add(p.Grace), turn.end))})
			case p.Until.After(step.Until): // something else has given it more time
				step.End = append(step.End, Ending{p.Key, latest(s.Now, step.Until)})
			}
		}
		if len(step.Waits) > 0 && !over {
			return step
		}
	}
	step.Done, step.Waits, step.Wake = true, nil, time.Time{}
	for _, p := range line.pods { // the machine may take its time, and more pods may begin meanwhile
		if !p.Gone && p.Until.IsZero() && !slices.ContainsFunc(step.End, func(e Ending) bool { return e.Key == p.Key }) {
			step.End = append(step.End, Ending{p.Key, s.Now})
		}
	}
	return step
}

// latest returns when a phase ends at the latest. It is no later than if all phases before it had used up their time:
// an agent that was started again in between does not prolong the shutdown.
func (s Situation) latest(at Progress) time.Time {
	end, all := at.Since.Add(s.Phases[at.Phase].Period), s.Began
	for _, phase := range s.Phases[:at.Phase+1] {
		all = all.Add(phase.Period)
	}
	return earliest(end, all)
}

// line knows in which phase each pod ends, and behind how many others there.
type line struct {
	pods      []Pod // by key
	followers map[node.Key][]node.Key
	phaseOf   map[node.Key]int
	rank      map[node.Key]int // how many pods end one after the other before it, within its phase
}

func newLine(s Situation) line {
	l := line{
		pods:      slices.SortedFunc(slices.Values(s.Pods), func(a, b Pod) int { return a.Key.Compare(b.Key) }),
		followers: map[node.Key][]node.Key{}, phaseOf: map[node.Key]int{}, rank: map[node.Key]int{},
	}
	own := map[node.Key]int{}
	for _, p := range l.pods {
		own[p.Key] = phaseFor(s.Phases, p.Priority)
		for _, before := range p.After {
			l.followers[before] = append(l.followers[before], p.Key)
		}
	}
	for _, p := range l.pods {
		l.place(p.Key, own, map[node.Key]bool{})
	}
	return l
}

// phaseFor returns the phase of a priority: the last that begins no higher, or the first.
func phaseFor(phases []node.ShutdownPhase, priority int32) int {
	after, found := slices.BinarySearchFunc(phases, priority, func(p node.ShutdownPhase, of int32) int {
		return cmp.Compare(p.Priority, of)
	})
	if found {
		return after
	}
	return max(0, after-1)
}

// place works out where a pod ends: with the last of the pods that start after it, and behind those of the same phase.
// A circle, which intake refuses, is cut where it was entered.
func (l line) place(key node.Key, own map[node.Key]int, entered map[node.Key]bool) {
	if _, placed := l.phaseOf[key]; placed || entered[key] {
		return
	}
	entered[key] = true
	phase := own[key]
	for _, f := range l.followers[key] {
		l.place(f, own, entered)
		phase = max(phase, l.phaseOf[f])
	}
	rank := 0
	for _, f := range l.followers[key] {
		if l.phaseOf[f] == phase && f != key {
			rank = max(rank, l.rank[f]+1)
		}
	}
	l.phaseOf[key], l.rank[key] = phase, rank
}

func (l line) phase(i int) (pods []Pod) {
	for _, p := range l.pods {
		if l.phaseOf[p.Key] == i {
			pods = append(pods, p)
		}
	}
	return pods
}

// free reports whether all pods of the phase that start after a pod have ended.
func (l line) free(p Pod, pods []Pod) bool {
	return !slices.ContainsFunc(pods, func(f Pod) bool {
		return !f.Gone && l.rank[f.Key] < l.rank[p.Key] && slices.Contains(l.followers[p.Key], f.Key)
	})
}

// turn is the time within which the pods of a rank end, if those before them use up theirs.
type turn struct{ begin, end time.Time }

// turns shares the time of a phase between the ranks: each ends so early that those after it have what they need. If
// the phase is too short for that, each gets a share in proportion.
func (l line) turns(pods []Pod, period time.Duration, until time.Time) map[int]turn {
	needs := map[int]time.Duration{}
	for _, p := range pods {
		rank := l.rank[p.Key]
		needs[rank] = max(needs[rank], min(p.Grace, period))
	}
	sum := time.Duration(0)
	for _, need := range needs {
		sum += need
	}
	turns, end := map[int]turn{}, until
	for _, rank := range slices.Backward(slices.Sorted(maps.Keys(needs))) {
		need := needs[rank]
		if sum > period {
			need = time.Duration(float64(period) * (float64(need) / float64(sum)))
		}
		turns[rank] = turn{end.Add(-need), end}
		end = end.Add(-need)
	}
	return turns
}

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
