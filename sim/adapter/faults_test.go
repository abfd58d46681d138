package adapter

import (
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	"nodal/sim/cri"
)

// requestTimeout bounds the adapter's wait for an ordinary call. A call that has its
// effect late has it at most mostLate after that.
const (
	requestTimeout = 10 * time.Second
	mostLate       = 30 * time.Second
	mostDelay      = 8 * time.Second
)

// fault is a way for a call to go wrong, with how often it does where it happens at all.
type fault struct {
	kind  cri.FaultKind
	lie   bool // a definite error though the call had its effect
	codes []codes.Code
	rate  float64
}

// everyFault lists all ways for a call to go wrong. An error may say for certain that the
// call failed, or leave it open.
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

// faults decides which calls go wrong. A run has only some of the ways: all at once
// would hide what each of them does.
type faults struct {
	seed  uint64
	mu    sync.Mutex
	some  []fault
	calls map[string]uint64 // so far, by method
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

// lies says whether the runtime may deny what it did.
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

// choose answers the fate of a call. It follows from the seed, the method and how many
// calls of the method came before.
func (f *faults) choose(method string) cri.Rule {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[method]++
	name := fnv.New32()
	_, _ = name.Write([]byte(method)) // a hash takes all
	r := rand.New(rand.NewPCG(f.seed, uint64(name.Sum32())<<32|f.calls[method]))
	for _, one := range f.some {
		if r.Float64() < one.rate && mayStrike(one, method) {
			return one.rule(r)
		}
	}
	return cri.Rule{}
}

// mayStrike leaves out what would never end: a pull has no deadline, so the runtime has
// to answer it.
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

// between is a random time.
func between(r *rand.Rand, low, high time.Duration) time.Duration {
	return low + time.Duration(r.Int64N(int64(high-low)))
}
