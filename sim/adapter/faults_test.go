package adapter

import (
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	"nodal/sim/cri"
)

// requestTimeout bounds the adapter's wait for an ordinary call. A late effect comes at most
// mostLate after that.
const (
	requestTimeout = 10 * time.Second
	mostLate       = 30 * time.Second
	mostDelay      = 8 * time.Second
)

// fault is a way for a call to go wrong, and how often it does in a run that has it.
type fault struct {
	kind  cri.FaultKind
	lie   bool // the call has its effect, and reports a definite error
	codes []codes.Code
	rate  float64
}

// everyFault lists all faults. Some report a definite failure, others leave the outcome open.
func everyFault() []fault {
	certain := []codes.Code{codes.Unknown, codes.Internal, codes.ResourceExhausted}
	open := []codes.Code{codes.Unavailable, codes.DeadlineExceeded}
	return []fault{
		{kind: cri.ErrorBefore, codes: certain, rate: 0.1},
		{kind: cri.ErrorBefore, codes: open, rate: 0.1},
		{kind: cri.ErrorAfter, codes: certain, rate: 0.1, lie: true},
		{kind: cri.ErrorAfter, codes: open, rate: 0.1},
		{kind: cri.LostReply, rate: 0.1},
		{kind: cri.Hang, rate: 0.1},
		{kind: cri.Late, rate: 0.1},
		{kind: cri.Delay, rate: 0.2},
		{kind: cri.SlowReply, rate: 0.2},
	}
}

// faults decides which calls go wrong. Each run has only some of the faults: all at once would mask
// each other.
type faults struct {
	seed  uint64
	mu    sync.Mutex
	some  []fault
	calls map[string]uint64 // calls so far, by method
}

func newFaults(seed uint64, r *rand.Rand) *faults {
	f := &faults{seed: seed, calls: map[string]uint64{}}
	for _, one := range everyFault() {
		one.rate *= r.Float64()
		if r.IntN(2) == 0 {
			f.some = append(f.some, one)
		}
	}
	return f
}

// lies reports whether the runtime may deny an effect that it had.
func (f *faults) lies() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.some {
		if one.lie {
			return true
		}
	}
	return false
}

// end lets all further calls pass.
func (f *faults) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.some = nil
}

// choose returns the fault of a call. It depends on the seed, the method and the number of earlier
// calls of that method.
func (f *faults) choose(method string) cri.Rule {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[method]++
	name := fnv.New32()
	_, _ = name.Write([]byte(method)) // Write of a hash never fails
	r := rand.New(rand.NewPCG(f.seed, uint64(name.Sum32())<<32|f.calls[method]))
	for _, one := range f.some {
		if r.Float64() < one.rate && mayStrike(one, method) {
			return one.rule(r)
		}
	}
	return cri.Rule{}
}

// mayStrike excludes faults that would last for ever: a pull has no deadline, so the runtime has to
// answer it.
func mayStrike(one fault, method string) bool {
	silent := one.kind == cri.Hang || one.kind == cri.LostReply || one.kind == cri.Late
	return !silent || method != "PullImage"
}

func (one fault) rule(r *rand.Rand) cri.Rule {
	rule := cri.Rule{Kind: one.kind, Delay: between(r, 0, mostDelay)}
	if one.kind == cri.Late {
		rule.Delay = between(r, 0, mostLate)
	}
	if len(one.codes) > 0 {
		rule.Code = one.codes[r.IntN(len(one.codes))]
	}
	return rule
}

// between returns a random duration from low to high.
func between(r *rand.Rand, low, high time.Duration) time.Duration {
	return low + time.Duration(r.Int64N(int64(high-low)))
}
