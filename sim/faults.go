package sim

import (
	"math/rand/v2"
	"slices"
	"time"
)

// Kind names a fault.
type Kind string

// The faults of calls, of looks, of the machine and of the agent.
const (
	Refuse Kind = "refuse" // a call fails for certain and has no effect
	Fail   Kind = "fail"   // a call fails for certain although it had its effect
	Lose   Kind = "lose"   // a call has its effect and gets no answer
	Hang   Kind = "hang"   // a call gets neither effect nor answer
	Late   Kind = "late"   // a call gets no answer, and has its effect much later
	Delay  Kind = "delay"  // every step takes seconds
	Stale  Kind = "stale"  // a look is outdated and comes late
	Blind  Kind = "blind"  // a look fails
	Exit   Kind = "exit"   // a container ends by itself
	Sick   Kind = "sick"   // a probe or a hook fails
	Die    Kind = "die"    // a sandbox dies
	Vanish Kind = "vanish" // a container, sandbox or image disappears without a trace
	Outage Kind = "outage" // the runtime restarts; containers run on
	Full   Kind = "full"   // the disk refuses new records
	Gorge  Kind = "gorge"  // a pod writes more to the disk than it may
	Jump   Kind = "jump"   // the wall clock jumps
	Crash  Kind = "crash"  // the agent dies at a random moment
	Commit Kind = "commit" // the agent dies while it commits
	Record Kind = "record" // a record does not survive the agent's death
)

// Kinds returns all faults, in the order in which shrink leaves them out.
func Kinds() []Kind {
	return []Kind{
		Record, Jump, Gorge, Full, Vanish, Die, Exit, Sick, Blind, Commit, Crash, Outage,
		Late, Hang, Lose, Fail, Refuse, Stale, Delay,
	}
}

// faults decides which faults strike, and when. Each run has only some of them: all at once would
// mask each other.
type faults struct {
	rand *rand.Rand
	rate map[Kind]float64
}

// common returns how likely a fault is at each opportunity, in a run that has it.
func common(kind Kind) float64 {
	switch kind {
	case Stale, Delay:
		return 0.3
	case Commit:
		return 0.04
	case Exit, Sick, Die, Vanish, Outage, Full, Gorge, Jump, Crash, Record:
		return 0.5
	}
	return 0.12
}

func newFaults(r *rand.Rand, without []Kind) *faults {
	f := &faults{rand: r, rate: map[Kind]float64{}}
	for _, kind := range Kinds() {
		happens, rate := r.Float64() < 0.5, common(kind)*r.Float64()
		if happens && !slices.Contains(without, kind) {
			f.rate[kind] = rate
		}
	}
	return f
}

// end stops all faults.
func (f *faults) end() { clear(f.rate) }

func (f *faults) strike(kind Kind) bool { return f.rand.Float64() < f.rate[kind] }

// between returns a random duration from low to high.
func (f *faults) between(low, high time.Duration) time.Duration {
	return low + time.Duration(f.rand.Float64()*float64(high-low))
}

// fate holds the course of one call.
type fate struct {
	kind    Kind          // the fault; empty: the call succeeds
	travel  time.Duration // from the agent to the runtime
	work    time.Duration // from its arrival to its effect
	back    time.Duration // from its effect to the reply
	timeout time.Duration // until the agent gives up, if there is no reply
	late    time.Duration // from the timeout to the effect
}

func (f *faults) fate() fate {
	d := fate{
		travel: f.between(0, 2*time.Millisecond), work: f.between(time.Millisecond, 80*time.Millisecond),
		back: f.between(0, 2*time.Millisecond), timeout: f.between(time.Second, time.Minute),
		late: f.between(0, 2*time.Minute),
	}
	if f.strike(Delay) {
		d.travel, d.work, d.back = f.between(0, 2*time.Second), f.between(0, 5*time.Second), f.between(0, 2*time.Second)
	}
	for _, kind := range []Kind{Refuse, Fail, Lose, Hang, Late} {
		if f.strike(kind) && d.kind == "" {
			d.kind = kind
		}
	}
	return d
}
